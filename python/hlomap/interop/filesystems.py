"""File systems: the disk, URLs that Arrow knows, and any other URL through fsspec."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ..base.types import needs
from ..errors import UnsupportedError


def connect(name: str) -> tuple[fs.FileSystem, str]:
    """Arrow's file system of a path or URL, and the path in it.

    Raises :class:`UnsupportedError` for a URL that nothing installed opens.
    """
    if "://" not in name:
        return fs.LocalFileSystem(), os.path.abspath(name)
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(name)
        return found
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        own, path = open_fsspec(name)
        return fs.PyFileSystem(fs.FSSpecHandler(own)), path


def open_fsspec(url: str) -> tuple[Any, str]:
    """The file system of fsspec for a URL, and the path in it.

    Raises :class:`UnsupportedError` for a URL that nothing installed opens.
    """
    with needs("corpus", url):
        import fsspec
    try:
        return fsspec.core.url_to_fs(url)  # type: ignore[no-any-return]
    except (ImportError, ValueError) as error:  # the package of one protocol, such as s3fs
        raise UnsupportedError(f"{url}: {error}") from error
