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
import zlib
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

__all__ = ["Member", "Packed", "archive_kind", "list_members", "unpack"]

_NAME = re.compile(
    r"\.(?:(?P<zip>zip)|(?P<tar>tar)|(?:tar\.(?P<packed>gz|bz2|xz|zst))|(?P<short>tgz|tbz2|txz|tzst))$", re.I
)
_SHORT = {"tgz": "gz", "tbz2": "bz2", "txz": "xz", "tzst": "zst"}


class Packed(NamedTuple):
    """An archive: ``form`` is zip or tar, ``compression`` that of a whole tar file."""

    form: str
    compression: str | None = None


class Member(NamedTuple):
    """A file in an archive; ``offset`` is None in a zip archive.  ``kind`` says what it is if not a file."""

    name: str
    size: int
    offset: int | None
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
                    if not info.is_dir():
                        yield Member(info.filename, info.file_size, None)
            return
        with tarfile.open(fileobj=stream, mode="r:") as tar:
            for entry in tar:
                if entry.isreg() and not entry.sparse:
                    yield Member(entry.name, entry.size, entry.offset_data)
                elif not entry.isdir():
                    kind = "link in an archive" if entry.islnk() or entry.issym() else "special file in an archive"
                    yield Member(entry.name, 0, None, kind)
                tar.members = []  # type: ignore[attr-defined]  # the list grows with the archive otherwise
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise OSError(f"damaged archive: {error}") from error


@contextlib.contextmanager
def unpack(compression: str, stream: IO[bytes]) -> Iterator[Any]:
    """A stream of the content; errors in the compressed data are ``OSError``."""
    if compression == "zst":
        import pyarrow as pa

        with pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd") as content:
            yield content
        return
    opener: Any = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open}[compression]
    try:
        with opener(stream, "rb") as content:
            yield content
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise OSError(f"damaged {compression} data: {error}") from error
