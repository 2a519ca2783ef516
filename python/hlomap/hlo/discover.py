"""Finds the HLO files in a directory tree.

:func:`list_files` lists files in a fixed order; :func:`detect_kind` detects by the first bytes of a file, never by its
name, whether it is HLO: text, a serialized module, a trace of the profiler, or any of them compressed.  Nothing is
parsed here: a file that
begins like HLO and is malformed further on still is HLO.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .._core import is_module_head, is_trace_head, unpack_head
from .load import RIEGELI
from .mlir import mlir_kind

_HEAD_BYTES = 1 << 16
_COMPILE_INPUT = re.compile(r"(?:^|/)module_\d+\.[^/]+/(?:module\.mlir|compile_options\.|topology\.)[\w.]*$")

_BLANK = re.compile(r"(?:\s+|//[^\n\r]*(?:[\n\r]|\Z)|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_HEADER = re.compile(r"HloModule\b")
_NAME = r"%?[A-Za-z_][\w.\-]*"
_SHAPE = r"(?:[a-z][a-z0-9]*\[[^\]\n]*\]|\(|token\b|opaque\b|b\()"
_INSTRUCTION = rf"(?:ROOT\s+)?{_NAME}\s*=\s*{_SHAPE}"
_COMPUTATION = re.compile(
    rf"(?:ENTRY\s+)?{_NAME}\s*(?:\([^{{}}]*\)\s*->\s*{_SHAPE}[^\n]*\{{|\{{\s*{_INSTRUCTION})|{_INSTRUCTION}[^\n]*\(",
)


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
    waiting: list[tuple[str, Iterator[str]]] = [("", iter(roots))]  # names only: a folder may have a million
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
        except OSError:  # opening the file raises it again
            size = 0
        yield SourceFile(path, label_of(path), size)


def label_of(path: str) -> str:
    """The path as text for a table: with slashes, and with bytes escaped that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace(os.sep, "/")


def detect_kind(file: SourceFile) -> str:
    """``"HLO"``, or the kind of a file that is not HLO.  Raises ``OSError`` where the file cannot be read."""
    return detect_kind_and_form(file)[0]


def detect_kind_and_form(file: SourceFile) -> tuple[str, str | None]:
    """As :func:`kind_and_form`, of a file."""
    if not stat.S_ISREG(os.stat(file.path).st_mode):
        return "not a regular file", None
    with open(file.path, "rb") as stream:
        return kind_and_form(stream.read(_HEAD_BYTES))


def kind_of_name(name: str) -> str | None:
    """The kind of a file that XLA writes beside the modules of a dump, in a folder for each compilation; else ``None``.

    The program in it is that of the module before optimizations, which the dump has as a file of its own.

    >>> kind_of_name("dump/module_0001.jit_f/module.mlir"), kind_of_name("dump/module_0001.jit_f.something.txt")
    ('input of a compilation', None)
    """
    return "input of a compilation" if _COMPILE_INPUT.search(name) else None


def kind_of(head: bytes) -> str:
    """``"HLO"``, or the kind of a file that is not HLO, by its first 64 KiB.

    >>> kind_of(b"HloModule m"), kind_of(b"digraph G {"), kind_of(b"")
    ('HLO', 'other text', 'empty')
    """
    return kind_and_form(head)[0]


def kind_and_form(head: bytes) -> tuple[str, str | None]:
    """The kind of a file, and the form of a program: ``"text"``, ``"proto"`` or ``"trace"`` of HLO, or ``"StableHLO"``.

    A trace of XLA's profiler has the HLO of any number of programs.

    >>> kind_and_form(b"HloModule m"), kind_and_form(b"digraph G {")
    (('HLO', 'text'), ('other text', None))
    """
    if not head:
        return "empty", None
    compression, head = unpack_head(head, _HEAD_BYTES)
    if compression is not None and not head:
        return f"compressed ({compression})", None
    if head.startswith(RIEGELI):
        return "Riegeli", None
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    start = _BLANK.match(text)
    begin = start.end() if start else 0
    if _HEADER.match(text, begin) or _COMPUTATION.match(text, begin):
        return "HLO", "text"
    if is_module_head(head):
        return "HLO", "proto"
    if is_trace_head(head):
        return "HLO", "trace"
    if (kind := mlir_kind(head)) is not None:
        return kind, kind
    return "binary" if b"\x00" in head or "\ufffd" in text[:-3] else "other text", None
