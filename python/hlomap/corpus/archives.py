"""Lists the members of archives: zip, tar, and compressed tar (gz, bz2, xz, zst).

Read :func:`list_members` first.  Members of a tar archive are read at their offsets later; a compressed one has none,
so it is unpacked once, next to the plan, when it is listed.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import re
import tarfile
import zipfile
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

__all__ = ["Member", "Packed", "archive_kind", "copy_unpacked", "list_members", "unpack"]

_NAME = re.compile(
    r"\.(?:(?P<zip>zip)|(?P<tar>tar)|(?:tar\.(?P<packed>gz|bz2|xz|zst))|(?P<short>tgz|tbz2|txz|tzst))$", re.I
)
_MIN_LIMIT, _MAX_RATIO = 1 << 30, 1100  # gzip reaches 1,032
_MAX_READ = 1 << 24  # of a header; the size in one is not to be trusted
_SHORT = {"tgz": "gz", "tbz2": "bz2", "txz": "xz", "tzst": "zst"}


class Packed(NamedTuple):
    """An archive: ``form`` is zip or tar, ``compression`` that of a whole tar file."""

    form: str
    compression: str | None = None


class Member(NamedTuple):
    """A file in an archive: ``offset`` is where its data begin, in a zip archive its header.

    Names need not differ nor be names at all: nothing is written under them.  ``kind`` says what it is if not a file.
    """

    name: str
    size: int
    offset: int
    kind: str | None = None


def archive_kind(name: str) -> Packed | None:
    """The kind of archive that a file name stands for.

    >>> archive_kind("dumps.tar.zst"), archive_kind("a.zip"), archive_kind("module.txt.gz")
    (Packed(form='tar', compression='zst'), Packed(form='zip', compression=None), None)
    """
    match = _NAME.search(name)
    if match is None:
        return None
    if match["zip"]:
        return Packed("zip")
    packed = match["packed"] or _SHORT.get((match["short"] or "").lower())
    return Packed("tar", packed.lower() if packed else None)


def list_members(form: str, stream: IO[bytes]) -> Iterator[Member]:
    """The files in an archive in their order.  Raises ``OSError`` where the archive is damaged, after what is whole."""
    try:
        if form == "zip":
            with zipfile.ZipFile(stream) as archive:
                for info in archive.infolist():
                    if not info.filename.endswith("/"):  # is_dir() raises for an empty name
                        yield _checked(Member(info.filename, info.file_size, info.header_offset))
            return
        with tarfile.open(fileobj=_Headers(stream), mode="r:") as tar:  # type: ignore[call-overload]
            for entry in tar:
                if entry.isreg() and not entry.sparse:
                    yield _checked(Member(entry.name, entry.size, entry.offset_data))
                elif not entry.isdir():
                    kind = "link in an archive" if entry.islnk() or entry.issym() else "special file in an archive"
                    yield Member(entry.name, 0, entry.offset_data, kind)
                tar.members = []  # the list grows with the archive otherwise
    except OSError:
        raise
    except Exception as error:  # the libraries raise any kind for what they do not expect
        raise OSError(f"damaged archive: {error or type(error).__name__}") from error


def _checked(member: Member) -> Member:
    if not 0 <= member.size < 2**63:
        raise OSError(f"damaged archive: a member of {member.size:,} bytes")
    return member


class _Headers:
    """A tar archive, of which only headers are read; a pax header may claim any size."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, n: int) -> bytes:
        if n > _MAX_READ:
            raise OSError(f"damaged archive: a header of {n:,} bytes; at most {_MAX_READ:,} are read")
        return self._stream.read(n)


def copy_unpacked(content: IO[bytes], copy: IO[bytes], packed_size: int) -> None:
    """Copies the content of a compressed archive; ``OSError`` for one that unpacks to far more than HLO does."""
    limit, n = max(_MIN_LIMIT, _MAX_RATIO * packed_size), 0
    while block := content.read(1 << 20):
        n += len(block)
        if n > limit:
            raise OSError(f"an archive of {packed_size:,} bytes unpacks to more than {limit:,} bytes; unpack it")
        copy.write(block)


@contextlib.contextmanager
def unpack(compression: str, stream: IO[bytes]) -> Iterator[Any]:
    """A stream of the content; errors in the compressed data are ``OSError``."""
    try:
        if compression == "zst":
            import pyarrow as pa

            with pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd") as content:
                yield content
            return
        opener: Any = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}[compression]
        with opener(stream, "rb") as content:
            yield content
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"damaged {compression} data: {error}") from error
