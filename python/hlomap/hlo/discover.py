"""Lists the files in a directory tree, in a fixed order; `content` says what each of them is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class SourceFile(NamedTuple):
    """A file that may hold HLO: its path, its name in tables, and its size in bytes."""

    path: str
    label: str
    size: int


def list_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[SourceFile]:
    """The files at and below these paths, in the given order; folders depth first, sorted by name.

    Links to files are followed; links to folders inside a folder are not, which avoids cycles.  Raises
    ``FileNotFoundError`` for a path that does not exist, before it yields the first file.
    """
    roots = [os.fspath(path) for path in paths]
    for root in roots:
        os.stat(root)
    return _iterate_files(roots)


def _iterate_files(roots: list[str]) -> Iterator[SourceFile]:
    explicit = set(roots)
    waiting: list[tuple[str, Iterator[str]]] = [("", iter(roots))]  # names only: folders may be huge
    while waiting:
        folder, names = waiting[-1]
        name = next(names, None)
        if name is None:
            waiting.pop()
            continue
        path = os.path.join(folder, name)
        try:
            status = os.stat(path)
            if stat.S_ISDIR(status.st_mode):
                if path in explicit or not os.path.islink(path):
                    waiting.append((path, iter(sorted(os.listdir(path)))))
                continue
            size = status.st_size
        except OSError:  # opening the file raises the error again
            size = 0
        yield SourceFile(path, label_of(path), size)


def label_of(path: str) -> str:
    """The path as text for a table: with slashes, and with escapes for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace(os.sep, "/")
