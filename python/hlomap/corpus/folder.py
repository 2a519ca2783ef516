"""The folder of a dataset: files appear atomically, on a disk or in an object store.

On a disk a file is written under a temporary name and renamed; an object store shows an object when its upload ends
(:mod:`hlomap.corpus.remote`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ..base.files import discard, is_temporary, new_temporary, put
from ..errors import HlomapError, LockedError, OutputError

if TYPE_CHECKING:
    from .remote import RemoteFolder

Folder: TypeAlias = "LocalFolder | RemoteFolder"
"""Files by their names below one folder; names have slashes."""


@contextlib.contextmanager
def output_errors() -> Iterator[None]:
    """Turns the errors of the operating system in the block into :class:`OutputError`."""
    try:
        yield
    except HlomapError:
        raise
    except OSError as error:
        raise OutputError(error.errno or 0, error.strerror or str(error), error.filename) from error


def is_url(name: str) -> bool:
    """Whether this is the URL of a file system rather than a local path.

    >>> is_url("s3://bucket/dumps"), is_url("/tmp/dumps"), is_url("C:/dumps")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.\-]+(?:::|://)", name) is not None


def place_of(name: str) -> str:
    """The path or URL with links resolved: equal for two names of one place on a disk."""
    local = _local_path(name)
    return name.rstrip("/") if is_url(local) else os.path.realpath(local)


def _local_path(name: str) -> str:
    return re.sub(r"^(?:file|local)://", "", name)


def contains(folder: str, place: str) -> bool:
    """Whether a place is the folder or inside the folder, both as :func:`place_of` returns them.

    >>> contains("/a/b", "/a/b/c"), contains("/a/b", "/a/bc")
    (True, False)
    """
    return place == folder or place.startswith(folder.rstrip("/" + os.sep) + ("/" if is_url(folder) else os.sep))


def open_folder(url: str) -> Folder:
    """The folder at a local path or at a URL of fsspec (extra ``fsspec``)."""
    local = _local_path(url)
    if not is_url(local):
        return LocalFolder(local)
    from .remote import RemoteFolder

    return RemoteFolder(url)


class LocalFolder:
    """A folder on a file system with atomic renames."""

    def __init__(self, path: str) -> None:
        self.url: str = os.path.abspath(path)
        self._path = Path(self.url)

    def read(self, name: str) -> bytes:
        """The content of a file; raises ``FileNotFoundError``."""
        fd = os.open(self._path / name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(fd, "rb") as stream:
            if not stat.S_ISREG(os.fstat(fd).st_mode):  # a pipe would wait, a device never end
                raise OutputError(errno.EINVAL, "expected a regular file", str(self._path / name))
            return stream.read()

    def write(self, name: str, content: bytes) -> None:
        """Creates or replaces a file at once.  Raises :class:`OutputError`."""
        with self.write_part(name) as path, output_errors(), open(path, "wb") as stream:
            stream.write(content)

    @contextlib.contextmanager
    def write_part(self, name: str) -> Iterator[str]:
        """The path of a temporary local file, which becomes the file ``name`` when the block ends normally."""
        target = self._path / name
        temporary = new_temporary(str(target))
        try:
            with output_errors():
                # Only the coordinator creates the dataset's folder, so a removed folder is not created again.
                for parent in reversed(target.relative_to(self._path).parents[:-1]):
                    (self._path / parent).mkdir(exist_ok=True)
                    self.refuse_link(str(parent))
            yield temporary
            with output_errors():
                put(temporary, str(target))
        finally:
            discard(temporary)

    def refuse_link(self, folder: str) -> None:
        """Raises :class:`OutputError` if a subfolder is a link: its files do not belong to the dataset."""
        path = self._path / folder
        if path.is_symlink():
            message = "expected a folder of the dataset, found a link, and nothing is written through links; remove it"
            raise OutputError(errno.ELOOP, message, str(path))

    def names(self, folder: str) -> list[str]:
        """The names of the files directly in a folder, except temporary files; empty if the folder does not exist."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return sorted(name for name in os.listdir(self._path / folder) if not is_temporary(name))
        return []

    def sizes(self, folder: str) -> dict[str, int | None]:
        """The sizes of the entries that :meth:`names` lists; ``None`` for an entry that is not a file."""
        found: dict[str, int | None] = {}
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._path / folder) as entries:
            for entry in entries:
                if not is_temporary(entry.name):
                    is_file = entry.is_file(follow_symlinks=False)
                    found[entry.name] = entry.stat(follow_symlinks=False).st_size if is_file else None
        return found

    def remove(self, name: str) -> None:
        """Removes a file or a whole folder, if it is there."""
        path = self._path / name
        with output_errors():
            try:
                path.unlink()
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno not in (errno.EISDIR, errno.EPERM, errno.EACCES) or not path.is_dir():
                    raise
                shutil.rmtree(path)

    def clean(self, folder: str) -> None:
        """Removes the temporary files that killed writers left in a folder."""
        self.refuse_link(folder)
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self._path / folder):
                if is_temporary(name):
                    with contextlib.suppress(OSError):
                        os.unlink(self._path / folder / name)

    def remove_all(self) -> None:
        """Removes the folder itself."""
        shutil.rmtree(self._path, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self, name: str, *, wait: bool = False) -> Iterator[Callable[[], None]]:
        """Holds a lock of the folder; yields a function that raises :class:`LockedError` once the lock is lost.

        The lock is the operating system's, on an open file: it ends with the process, however the process ends, and
        works on NFS.  Raises :class:`LockedError` at once if another process holds it; with ``wait`` waits for it.
        """
        path = self._path / name
        while True:
            with output_errors():
                fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # somebody else's file
                os.close(fd)
                raise OutputError(errno.EEXIST, "expected a lock, found a link: remove it", str(path))
            try:
                _lock_descriptor(fd, wait)
            except OSError:
                holder = os.pread(fd, 200, 0).decode(errors="replace") if hasattr(os, "pread") else ""
                os.close(fd)
                raise LockedError(f"{self.url}: another run is at work{f' ({holder})' if holder else ''}") from None
            if _is_same_file(fd, path):
                break
            os.close(fd)  # its last holder has removed it
        with contextlib.suppress(OSError):  # a full disk: the text is only for the message
            os.ftruncate(fd, 0)
            os.write(fd, f"process {os.getpid()} on {socket.gethostname()}".encode())

        def check() -> None:
            if not _is_same_file(fd, path):
                raise LockedError(f"{self.url}: the folder was removed or replaced while the run was at work")

        try:
            yield check
        finally:
            if _is_same_file(fd, path):
                with contextlib.suppress(OSError):
                    os.unlink(path)
            os.close(fd)


def remove_stale_locks(folder: Folder) -> None:
    """Removes the locks whose holders were killed."""
    for name in folder.names(""):
        if name.startswith("_lock-"):
            with contextlib.suppress(LockedError), folder.lock(name):
                pass


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _lock_descriptor(fd: int, wait: bool) -> None:
    """Raises ``OSError`` if another process holds the lock."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        while True:
            try:
                os.lseek(fd, 1 << 20, os.SEEK_SET)
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
                return
            except OSError:
                if not wait:
                    raise
                time.sleep(0.5)
    fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
