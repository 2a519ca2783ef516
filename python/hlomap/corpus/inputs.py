"""Lists the files of a corpus.

An input is a file, a folder, a glob, an archive, a URL of fsspec, ``@list`` (a file with one name a line) or ``-``
(such a list on standard input).  Inputs are listed as a stream, of any length.  A path that does not exist is an error;
a listed path that does not exist becomes an error row.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import IO

from ..errors import OutputError, UnsupportedError
from ..hlo.content import HEAD_BYTES, content_of, kind_of_name
from ..hlo.discover import label_of, list_files
from .folder import is_url
from .sources import Source, archive_errors, is_archive, list_members, open_bytes, unpacker

Unpack = Callable[[], AbstractContextManager[tuple[str, str]]]
"""Returns a temporary path for an unpacked archive, and the final path of the copy."""


class Inputs:
    """The inputs of a run, identified by ``names`` and the content of lists.

    Raises ``FileNotFoundError`` for an input that does not exist, and :class:`~hlomap.errors.UnsupportedError` for a
    module in place of a list.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self._paths = [os.fspath(path) for path in paths]
        self._stdin: IO[bytes] | None = None
        self.names: list[str] = []
        """The inputs with absolute paths, each list with a digest of its content."""
        self.roots: list[str] = []
        """The place of each input's files: a list itself, or the folder in which a glob begins."""
        self.is_private: bool = False
        """Whether an input is visible in this process only (``memory://``)."""
        for path in self._paths:
            self.is_private |= path.startswith("memory://")
            if path != "-":
                root = path.removeprefix("@")
                if not is_url(path) and glob.has_magic(root) and not os.path.lexists(root):
                    while glob.has_magic(root):
                        root = os.path.dirname(root)
                self.roots.append(root)
            if path == "-":
                self._stdin = tempfile.TemporaryFile()
                shutil.copyfileobj(sys.stdin.buffer, self._stdin)
                _check_list(self._stdin, "-", "name the file itself, or use `hlomap show -`")
                self.names.append(f"- {_digest(self._stdin)}")
            elif path.startswith("@"):
                with open_bytes(path[1:]) as stream:
                    _check_list(stream, path, f"without the @ the file itself is analyzed: {path[1:]}")
                    self.names.append(f"@{_absolute(path[1:])} {_digest(stream)}")
            else:
                if not is_url(path) and not os.path.lexists(path) and next(_expand(path), None) is None:
                    os.stat(path)  # raises
                self.names.append(_absolute(path))

    def list(self, unpack_to: Unpack | None) -> Iterator[Source]:
        """All files, in the order of the inputs; folders depth first, sorted by name.

        Without ``unpack_to`` an archive is one file.
        """
        numbers = itertools.count()
        for path in self._paths:
            if path == "-" and self._stdin is not None:
                self._stdin.seek(0)
                yield from _list_lines(self._stdin, numbers, unpack_to)
            elif path.startswith("@"):
                with open_bytes(path[1:]) as stream:
                    yield from _list_lines(stream, numbers, unpack_to)
            else:
                yield from _list_path(path, numbers, unpack_to)


def _list_lines(stream: IO[bytes], numbers: Iterator[int], unpack_to: Unpack | None) -> Iterator[Source]:
    for line in stream:
        path = os.fsdecode(line.rstrip(b"\r\n"))
        if path:
            yield from _list_path(path, numbers, unpack_to)


def _list_path(path: str, numbers: Iterator[int], unpack_to: Unpack | None) -> Iterator[Source]:
    if is_url(path):
        from . import remote

        for url, size in remote.list_inputs(path):
            yield from _file(url, url, size, numbers, unpack_to, None if url == path else kind_of_name(url))
        return
    if os.path.isdir(path):
        roots = [path]
    elif os.path.lexists(path):
        yield from _file(path, label_of(path), _size(path), numbers, unpack_to)
        return
    else:
        roots = sorted(_expand(path))
        if not roots:  # a path in a list: reading it raises the error
            yield Source(next(numbers), label_of(path), os.path.abspath(path), 0)
            return
    named = set(roots)
    for file in list_files(roots):
        kind = None if file.path in named else kind_of_name(file.label)
        yield from _file(file.path, file.label, file.size, numbers, unpack_to, kind)


def _file(
    path: str, label: str, size: int, numbers: Iterator[int], unpack_to: Unpack | None, kind: str | None = None
) -> Iterator[Source]:
    """A file, or the members of an archive; ``kind`` says why the file is not analyzed, unless the caller named it."""
    path = _absolute(path)
    is_file = is_url(path) or os.path.isfile(path)  # a pipe would wait, a device never end
    if unpack_to is None or not is_archive(label) or not is_file:
        yield Source(next(numbers), label, path, size, kind=kind)
        return
    try:
        with archive_errors(), contextlib.ExitStack() as stack:
            stream = stack.enter_context(open_bytes(path))
            if unpack := unpacker(label):
                with unpack_to() as (temporary, path), open(temporary, "wb") as copy, unpack(stream) as content:
                    shutil.copyfileobj(content, copy)
                stream = stack.enter_context(open_bytes(path))
            is_empty = True
            for member, n_bytes, offset in list_members(label, stream):
                if not 0 <= n_bytes < 1 << 63:
                    raise OSError(f"damaged archive: a member of {n_bytes:,} bytes")
                name = f"{label}!/{member}".encode("utf-8", "backslashreplace").decode()
                kind = kind_of_name(name)
                yield Source(next(numbers), name, path, n_bytes, member if offset is None else None, offset, kind=kind)
                is_empty = False
            if is_empty:
                yield Source(next(numbers), label, path, size, kind="archive without files")
    except OSError as error:
        if isinstance(error, OutputError) or error.errno == errno.ENOSPC:  # writing the copy failed, not the archive
            raise
        message = f"{type(error).__name__}: {error.strerror or error}"
        yield Source(next(numbers), label, path, size, error=message)


def _check_list(stream: IO[bytes], name: str, hint: str) -> None:
    """Rejects a module in place of a list: each of its lines would be read as the name of a missing file."""
    stream.seek(0)
    content = content_of(stream.read(HEAD_BYTES))
    if content.is_program:
        stream.close()
        raise UnsupportedError(f"`{name}` is a list of paths, one a line; found {content.kind}: {hint}")


def _expand(pattern: str) -> Iterator[str]:
    return glob.iglob(pattern, recursive=True) if glob.has_magic(pattern) else iter(())


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _absolute(path: str) -> str:
    return path if is_url(path) else os.path.abspath(path)


def _digest(stream: IO[bytes]) -> str:
    whole = hashlib.blake2b(digest_size=16)
    stream.seek(0)
    while block := stream.read(1 << 20):
        whole.update(block)
    return whole.hexdigest()
