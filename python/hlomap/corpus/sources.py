"""The files of a corpus: their places, and how to read their bytes.

A source is a file, an object at a URL, or a member of an archive.  Reading never waits on a pipe and never trusts the
size in the listing.  Members of a tar archive are read at their offsets, without the archive's index; a compressed one
has no offsets, so it is unpacked once, next to the plan, when it is listed.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import hashlib
import json
import lzma
import os
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from ..hlo.content import HEAD_BYTES
from .folder import is_url

_NAME = re.compile(r"\.(?:zip|tar|t(?:ar\.)?(gz|bz2|xz|zst))$", re.I)
_MAX_HEADER = 1 << 24  # bytes: a pax header may claim any size


def is_archive(name: str) -> bool:
    """Whether a file has the name of an archive.

    >>> is_archive("dumps.tar.zst"), is_archive("a.ZIP"), is_archive("module.txt.gz")
    (True, True, False)
    """
    return _NAME.search(name) is not None


def unpacker(name: str) -> Callable[[IO[bytes]], Any] | None:
    """The function that unpacks the compressed tar archive of this name; ``None`` for other archives."""
    match = _NAME.search(name)
    return _UNPACKERS[match[1].lower()] if match and match[1] else None


def _unpack_zstd(stream: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")


_UNPACKERS: dict[str, Callable[[Any], Any]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open, "zst": _unpack_zstd}


def list_members(name: str, stream: IO[bytes]) -> Iterator[tuple[str, int, int | None]]:
    """The name, size and offset of each file in an archive; a member of a zip archive has no offset.

    If a zip archive has several files with one name, only the last can be read, so only that one is listed.
    """
    if name.lower().endswith(".zip"):
        with zipfile.ZipFile(stream) as packed:
            for info in {info.filename: info for info in packed.infolist()}.values():
                if not info.filename.endswith("/"):
                    yield info.filename, info.file_size, None
        return
    with tarfile.open(fileobj=_Headers(stream), mode="r:") as tar:  # type: ignore[call-overload]
        for entry in tar:
            if entry.isreg() and not entry.sparse:
                yield entry.name, entry.size, entry.offset_data
            tar.members = []  # the list grows with the archive otherwise


@contextlib.contextmanager
def archive_errors() -> Iterator[None]:
    """Turns the errors of the block into ``OSError``: the libraries raise errors of any kind for damaged archives."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"damaged archive: {error or type(error).__name__}") from error


class _Headers:
    """A stream of a tar archive from which only headers are read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, n: int) -> bytes:
        if n > _MAX_HEADER:
            raise OSError(f"damaged archive: a header of {n:,} bytes; at most {_MAX_HEADER:,} are read")
        return self._stream.read(n)


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was listed.

    ``number`` is its position in the listing, ``label`` its name in tables, ``path`` a local path or a URL.  ``member``
    names a member of a zip archive; ``offset`` is where a member of a tar archive begins.  If the listing
    already shows that the file cannot be read, ``error`` has the reason; if it is not analyzed as a file, ``kind`` has.
    """

    number: int
    label: str
    path: str
    size: int
    member: str | None = None
    offset: int | None = None
    error: str | None = None
    kind: str | None = None

    @property
    def identity(self) -> tuple[str, str | None, int | None]:
        """Equal for two listings of one file."""
        return self.path, self.member, self.offset

    def to_line(self) -> bytes:
        """One line of text; :meth:`from_line` reads it."""
        cells = [self.number, self.label, self.path, self.size, self.member, self.offset, self.error, self.kind]
        while cells[-1] is None:
            cells.pop()
        return json.dumps(cells, separators=(",", ":")).encode() + b"\n"

    @staticmethod
    def from_line(line: bytes) -> Source:
        """Raises ``ValueError`` or ``TypeError`` for another line."""
        source = Source(*json.loads(line))
        texts = (source.label, source.path, source.member or "", source.error or "", source.kind or "")
        numbers = (source.number, source.size, source.offset or 0)
        if not all(type(text) is str for text in texts) or not all(type(n) is int and 0 <= n < 2**63 for n in numbers):
            raise ValueError("a line is not a file of the listing")
        return source


class Opened:
    """A source that is open: its head, then all of its bytes."""

    def __init__(self, read: Callable[[int], bytes], file_id: tuple[int, ...] | None = None) -> None:
        self._read = read
        self.file_id = file_id
        """Identifies a local file, so that its other hard links are not read again; None for other sources."""
        self.head: bytes = read(HEAD_BYTES)

    def rest(self, limit: int) -> bytes:
        """All bytes, but at most one more than ``limit``."""
        blocks = [self.head]
        n = len(self.head)
        while n <= limit and (block := self._read(min(limit + 1 - n, 1 << 24))):
            blocks.append(block)
            n += len(block)
        return blocks[0] if len(blocks) == 1 else b"".join(blocks)


class NotRegular(Exception):
    """The path leads to a pipe, a socket, a device or a folder."""


class Reader(contextlib.ExitStack):
    """Opens sources one after another and keeps the last archive open."""

    _zip_path: str | None = None
    _zip: zipfile.ZipFile | None = None

    @contextlib.contextmanager
    def open(self, source: Source) -> Iterator[Opened]:
        """Opens a source; raises ``OSError`` if it cannot be read, :class:`NotRegular` if it is not a regular file."""
        if source.member is not None:
            with archive_errors(), self._archive(source.path).open(source.member) as stream:
                yield Opened(stream.read)
        elif is_url(source.path):
            from . import remote

            with remote.open_input(source.path) as stream:
                if source.offset is not None:
                    stream.seek(source.offset)
                yield Opened(stream.read if source.offset is None else _bounded(stream.read, source.size))
        else:
            fd = os.open(source.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            try:
                status = os.fstat(fd)
                if not stat.S_ISREG(status.st_mode):
                    raise NotRegular
                if source.offset is not None:
                    os.lseek(fd, source.offset, os.SEEK_SET)
                    yield Opened(_bounded(lambda n: os.read(fd, n), source.size))
                else:
                    file_id = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
                    yield Opened(lambda n: os.read(fd, n), file_id if status.st_nlink > 1 else None)
            finally:
                os.close(fd)

    def _archive(self, path: str) -> zipfile.ZipFile:
        if self._zip is None or self._zip_path != path:
            self.close()
            self._zip = self.enter_context(zipfile.ZipFile(self.enter_context(open_bytes(path))))
            self._zip_path = path
        return self._zip


def head_digest(source: Source, reader: Reader) -> bytes:
    """A digest of the head; equal for files with equal content, and for all files that cannot be read."""
    if source.error is not None:
        return b""
    try:
        with reader.open(source) as opened:
            return hashlib.blake2b(opened.head, digest_size=8).digest()
    except (OSError, NotRegular):
        return b""


def _bounded(read: Callable[[int], bytes], size: int) -> Callable[[int], bytes]:
    left = size

    def read_at_most(n: int) -> bytes:
        nonlocal left
        block = read(min(n, left)) if left else b""
        left -= len(block)
        return block

    return read_at_most


def open_bytes(path: str) -> IO[bytes]:
    """A local file or an object at a URL, open for reading."""
    if is_url(path):
        from . import remote

        return remote.open_input(path)
    return open(path, "rb")
