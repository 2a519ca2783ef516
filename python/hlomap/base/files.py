"""Writes files atomically: to a temporary file in the same folder, which is then renamed.

Start with :func:`replacing`.  Readers see the old content or the new one, never a part.  A write that fails, such as
on a full disk, leaves the old content.  A symbolic link is replaced; its target does not change.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import uuid
from collections.abc import Iterator

_temporaries: set[str] = set()


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, within: str | None = None) -> Iterator[str]:
    """The path of a temporary file, which becomes the file at ``path`` when the block ends normally.

    The temporary file is in the same folder, or in ``within``, a folder of the same file system.  A pipe or a device,
    such as ``/dev/stdout``, is written in place.  Raises ``OSError`` with the name ``path``.
    """
    target = os.fspath(path)
    if _is_written_in_place(target):
        yield target
        return
    temporary = new_temporary(target if within is None else os.path.join(within, os.path.basename(target)))
    try:
        yield temporary
        put(temporary, target)
    except OSError as error:
        if error.filename == temporary:
            error.filename, error.filename2 = target, None
        raise
    finally:
        discard(temporary)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes a text as UTF-8, without translating line feeds.  Raises ``OSError``."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def new_temporary(target: str) -> str:
    """A path for the content of a file until it is whole, in the folder of the file."""
    folder, name = os.path.split(target)
    name = f".{name}" if len(os.fsencode(name)) <= 200 else ""
    temporary = os.path.join(folder, f"{name}.{uuid.uuid4().hex[:12]}.tmp")
    _temporaries.add(temporary)
    return temporary


def put(temporary: str, target: str) -> None:
    """Moves a complete file to ``target``; it keeps the permissions of the file that it replaces."""
    with contextlib.suppress(OSError):
        before = os.lstat(target)
        if stat.S_ISREG(before.st_mode):
            os.chmod(temporary, stat.S_IMODE(before.st_mode))
    _sync(temporary)
    os.replace(temporary, target)


def discard(temporary: str) -> None:
    """Removes a temporary file, if it is still there."""
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    _temporaries.discard(temporary)


def is_temporary(name: str) -> bool:
    """Whether a name is that of a temporary file of this module."""
    return re.fullmatch(r"\.(.+\.)?[0-9a-f]{12}\.tmp", name) is not None


def remove_temporaries() -> None:
    """Removes the temporary files of this process, which is about to end without unwinding."""
    for path in list(_temporaries):
        with contextlib.suppress(OSError):
            os.unlink(path)


def _is_written_in_place(target: str) -> bool:
    if os.path.abspath(target).startswith(("/dev/", "/proc/")):
        return True
    try:
        return not stat.S_ISREG(mode := os.stat(target).st_mode) and not stat.S_ISDIR(mode)
    except OSError:
        return False


def _sync(path: str) -> None:
    """Waits until the content is on the disk: after a power failure a renamed file is whole."""
    fd = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
