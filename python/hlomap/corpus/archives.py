"""Lists the members of archives: zip, tar, and compressed tar (gz, bz2, xz, zst).

Start with :func:`list_members`.  Members of a tar archive are read at their offsets later, without the archive's index;
a compressed one has no offsets, so it is unpacked once, next to the plan, when it is listed.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import lzma
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any

_NAME = re.compile(r"\.(?:zip|tar|t(?:ar\.)?(gz|bz2|xz|zst))$", re.I)
_MAX_HEADER = 1 << 24  # bytes: a pax header may claim any size


def is_archive(name: str) -> bool:
    """Whether a file has the name of an archive.

    >>> is_archive("dumps.tar.zst"), is_archive("a.ZIP"), is_archive("module.txt.gz")
    (True, True, False)
    """
    return _NAME.search(name) is not None


def unpacker(name: str) -> Callable[[IO[bytes]], Any] | None:
    """What unpacks the compressed tar archive of this name; ``None`` for other archives."""
    match = _NAME.search(name)
    return _UNPACKERS[match[1].lower()] if match and match[1] else None


def _unpack_zstd(stream: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")


_UNPACKERS: dict[str, Callable[[Any], Any]] = {"gz": gzip.open, "bz2": bz2.open, "xz": lzma.open, "zst": _unpack_zstd}


def list_members(name: str, stream: IO[bytes]) -> Iterator[tuple[str, int, int | None]]:
    """The name, size and offset of each file in an archive; a member of a zip archive has no offset.

    Of several files with one name in a zip archive only the last one can be read, and it alone is listed.
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
    """Turns the errors of the block into ``OSError``: the libraries raise any kind for what they do not expect."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"damaged archive: {error or type(error).__name__}") from error


class _Headers:
    """A tar archive, of which only headers are read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, n: int) -> bytes:
        if n > _MAX_HEADER:
            raise OSError(f"damaged archive: a header of {n:,} bytes; at most {_MAX_HEADER:,} are read")
        return self._stream.read(n)
