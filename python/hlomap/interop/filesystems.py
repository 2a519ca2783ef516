"""File systems for Arrow: the disk, those that pyarrow knows by URL, and any other through fsspec."""

from __future__ import annotations

import os

import pyarrow as pa
from pyarrow import fs

from ..errors import UnsupportedError

__all__ = ["connect"]


def connect(name: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URL, and the path in it.

    Raises :class:`UnsupportedError` for a URL that nothing installed opens.
    """
    if "://" not in name:
        return fs.LocalFileSystem(), os.path.abspath(name)
    try:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(name)
        return found
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        pass
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise UnsupportedError(f"{name} needs fsspec: pip install fsspec") from error
    try:
        own, path = fsspec.core.url_to_fs(name)
    except (ImportError, ValueError) as error:  # the package of one protocol, such as s3fs
        raise UnsupportedError(f"{name}: {error}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(own)), path
