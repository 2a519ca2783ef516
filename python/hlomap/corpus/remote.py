"""Inputs and outputs at URLs, through fsspec (extra ``fsspec``).

:class:`RemoteFolder` relies on object stores showing an object only when its upload has ended.  Credentials and
endpoints are those of fsspec's own configuration.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import tempfile
import uuid
from collections.abc import Iterator
from typing import IO, Any

from ..errors import UnsupportedError
from .folder import OutputError

__all__ = ["RemoteFolder", "list_inputs", "open_input"]


def _connect(url: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ModuleNotFoundError as error:
        raise UnsupportedError(f"{url} needs fsspec: pip install fsspec") from error
    try:
        return fsspec.core.url_to_fs(url)  # type: ignore[no-any-return]
    except (ImportError, ValueError) as error:  # the package of one protocol, such as s3fs
        raise UnsupportedError(f"{url}: {error}") from error


def open_input(url: str) -> IO[bytes]:
    """An object, open for reading; raises ``OSError``."""
    fs, path = _connect(url)
    return fs.open(path, "rb")  # type: ignore[no-any-return]


def list_inputs(url: str) -> Iterator[tuple[str, int]]:
    """The objects at and below a URL, or that match a glob: their URLs and sizes, sorted.

    Raises ``FileNotFoundError`` where there is nothing.
    """
    fs, path = _connect(url)
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
    """A :class:`hlomap.corpus.folder.Folder` below a URL."""

    def __init__(self, url: str) -> None:
        self.url: str = url.rstrip("/")
        self._fs, self._root = _connect(self.url)

    def _path(self, name: str) -> str:
        return posixpath.join(self._root, name)

    def read(self, name: str) -> bytes:
        content: bytes = self._fs.cat_file(self._path(name))
        return content

    def write(self, name: str, content: bytes) -> None:
        with _as_output_error():
            self._make_parent(name)
            self._fs.pipe_file(self._path(name), content)

    @contextlib.contextmanager
    def write_part(self, name: str) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="hlomap-") as folder:
            path = os.path.join(folder, "part")
            yield path
            with _as_output_error():
                self._make_parent(name)
                if "file" in self._protocols:  # a disk: a copy is not atomic, a rename is
                    temporary = self._path(f"{posixpath.dirname(name)}/.{uuid.uuid4().hex[:12]}.tmp")
                    self._fs.put_file(path, temporary)
                    self._fs.mv(temporary, self._path(name))
                else:
                    self._fs.put_file(path, self._path(name))

    @property
    def _protocols(self) -> tuple[str, ...]:
        protocol = self._fs.protocol
        return (protocol,) if isinstance(protocol, str) else tuple(protocol)

    def _make_parent(self, name: str) -> None:
        self._fs.makedirs(posixpath.dirname(self._path(name)), exist_ok=True)

    def names(self, folder: str) -> list[str]:
        self._fs.invalidate_cache()
        try:
            found = self._fs.ls(self._path(folder), detail=False)
        except FileNotFoundError:
            return []
        names = [posixpath.basename(name) for name in found]
        return sorted(name for name in names if not (name.startswith(".") and name.endswith(".tmp")))

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError), _as_output_error():
            self._fs.rm(self._path(name), recursive=True)

    def clean(self, folder: str) -> None:
        """Nothing: unfinished uploads are not visible."""


@contextlib.contextmanager
def _as_output_error() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise OutputError(error.errno or 0, error.strerror or str(error), error.filename) from error
