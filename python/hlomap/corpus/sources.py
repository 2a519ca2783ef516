"""The files of a corpus: where each is, and how its bytes are read.

Read :class:`Source` first.  A source is a file, an object at a URL, or a member of an archive.  Reading never waits on
a pipe and never trusts the size in the listing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from .archives import archive_errors
from .folder import is_url

HEAD_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Source:
    """A file as it was listed.

    ``number`` is its position in the listing, ``label`` its name in tables, ``path`` a local path or a URL.  ``member``
    names a member of a zip archive; ``offset`` is where a member of a tar archive begins.  If the listing shows it,
    ``error`` is why the file cannot be read, and ``kind`` why it is not analyzed as a file of its own.
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
        """Identifies a local file, so that its other hard links are read only once; None elsewhere."""
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


class Reader:
    """Opens sources one after another and keeps the last archive open."""

    def __init__(self) -> None:
        self._zip_path: str | None = None
        self._zip: zipfile.ZipFile | None = None
        self._files = contextlib.ExitStack()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    @contextlib.contextmanager
    def open(self, source: Source) -> Iterator[Opened]:
        """Raises ``OSError`` where the file cannot be read, :class:`NotRegular` for what is not a file."""
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
            self._files.close()
            self._zip = self._files.enter_context(zipfile.ZipFile(self._files.enter_context(open_bytes(path))))
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
