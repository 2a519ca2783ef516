"""Locks that keep two runs from one output.

Start with :func:`lock`.  A lock is one of the operating system on an open file: it ends with the process, however that
ends, and works on NFS.  Object stores have no such locks: there two runs do shards twice, with equal parts.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ..errors import LockedError, OutputError
from .folder import Folder, LocalFolder


@contextlib.contextmanager
def lock(folder: Folder, name: str, *, wait: bool = False) -> Iterator[Callable[[], None]]:
    """Holds the lock ``name`` of a folder; yields a function that raises :class:`LockedError` when it was lost.

    Raises :class:`LockedError` at once where another process holds it; with ``wait`` waits for it.
    """
    if not isinstance(folder, LocalFolder):
        yield lambda: None
        return
    path = Path(folder.url) / name
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        except OSError as error:
            raise OutputError(error.errno, error.strerror, error.filename) from error
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:  # of somebody else, who would lose what it holds
            os.close(fd)
            raise OutputError(errno.EEXIST, "expected a lock, found a link: remove it", str(path))
        try:
            _lock_descriptor(fd, wait)
        except OSError:
            holder = os.pread(fd, 200, 0).decode(errors="replace") if hasattr(os, "pread") else ""
            os.close(fd)
            raise LockedError(f"{folder.url}: another run is at work{f' ({holder})' if holder else ''}") from None
        if _is_same_file(fd, path):
            break
        os.close(fd)  # its last holder has removed it
    with contextlib.suppress(OSError):  # a full disk: the text is only for the message
        os.ftruncate(fd, 0)
        os.write(fd, f"process {os.getpid()} on {socket.gethostname()}".encode())

    def check() -> None:
        if not _is_same_file(fd, path):
            raise LockedError(f"{folder.url}: the folder was removed or replaced while the run was at work")

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
            with contextlib.suppress(LockedError), lock(folder, name):
                pass


def _is_same_file(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def _lock_descriptor(fd: int, wait: bool) -> None:
    """Raises ``OSError`` where another process holds the lock."""
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
