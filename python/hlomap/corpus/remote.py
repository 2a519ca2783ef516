"""Inputs and outputs at URLs, through fsspec (extra ``fsspec``).

:class:`RemoteFolder` relies on object stores showing an object only when its upload has ended.  Credentials and
endpoints are those of fsspec's own configuration.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import IO

from ..interop.filesystems import open_fsspec
from .folder import output_errors


def open_input(url: str) -> IO[bytes]:
    """An object, open for reading; raises ``OSError``."""
    fs, path = open_fsspec(url)
    return fs.open(path, "rb")  # type: ignore[no-any-return]


def list_inputs(url: str) -> Iterator[tuple[str, int]]:
    """The objects at and below a URL, or that match a glob: their URLs and sizes, sorted.

    Raises ``FileNotFoundError`` if there is nothing.
    """
    fs, path = open_fsspec(url)
    if any(c in path for c in "*?["):
        found = {name: info for name, info in fs.glob(path, detail=True).items() if info["type"] == "file"}
    else:
        found = fs.find(path, detail=True)
    if not found and not fs.exists(path):
        raise FileNotFoundError(2, "No such file or directory", url)
    for name in sorted(found):
        size = found[name].get("size")
        yield fs.unstrip_protocol(name), fs.size(name) if size is None else size


class RemoteFolder:
    """A folder below a URL, with the methods of :class:`hlomap.corpus.folder.LocalFolder`."""

    def __init__(self, url: str) -> None:
        self.url: str = url.rstrip("/")
        self._fs, self._root = open_fsspec(self.url)

    def _path(self, name: str) -> str:
        return posixpath.join(self._root, name)

    def read(self, name: str) -> bytes:
        content: bytes = self._fs.cat_file(self._path(name))
        return content

    def write(self, name: str, content: bytes) -> None:
        self._put(name, lambda path: self._fs.pipe_file(path, content))

    @contextlib.contextmanager
    def write_part(self, name: str) -> Iterator[str]:
        with _temporary_file() as local:
            yield local
            self._put(name, lambda path: self._fs.put_file(local, path))

    def _put(self, name: str, upload: Callable[[str], object]) -> None:
        target = self._path(name)
        with output_errors():
            self._fs.makedirs(posixpath.dirname(target), exist_ok=True)
            upload(target)

    def names(self, folder: str) -> list[str]:
        self._fs.invalidate_cache()
        try:
            return sorted(posixpath.basename(name) for name in self._fs.ls(self._path(folder), detail=False))
        except FileNotFoundError:
            return []

    def refuse_link(self, folder: str) -> None:
        """Does nothing: object stores have no links."""

    def sizes(self, folder: str) -> dict[str, int | None]:
        """The sizes of the files directly in a folder."""
        self._fs.invalidate_cache()
        try:
            listed = self._fs.ls(self._path(folder), detail=True)
        except FileNotFoundError:
            return {}
        return {posixpath.basename(info["name"]): info.get("size") for info in listed if info["type"] == "file"}

    def remove(self, name: str) -> None:
        with output_errors(), contextlib.suppress(FileNotFoundError):
            self._fs.rm(self._path(name), recursive=True)

    def clean(self, folder: str) -> None:
        """Does nothing: unfinished uploads are not visible."""

    @contextlib.contextmanager
    def lock(self, name: str, *, wait: bool = False) -> Iterator[Callable[[], None]]:
        """Does nothing: object stores have no locks, and two runs write equal parts."""
        yield lambda: None


@contextlib.contextmanager
def _temporary_file() -> Iterator[str]:
    """The path of a local file for a part before its upload; on Linux no file remains, however the process ends."""
    if sys.platform == "linux":
        with tempfile.TemporaryFile() as file:
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory(prefix="hlomap-") as folder:
            yield os.path.join(folder, "part")
