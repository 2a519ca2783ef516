"""Which files of a tree hold HLO.

:func:`candidates` walks paths in a fixed order; :func:`content_kind` decides by what a file begins with, never by its
name: text, a proto that holds a module, or either of them compressed.  Nothing is parsed here: a file that begins like
HLO and is broken further on is still HLO.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .._core import is_module_head, unpack_head

__all__ = ["Candidate", "candidates", "content_kind"]

_HEAD_BYTES = 1 << 16

_BLANK = re.compile(r"(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_HEADER = re.compile(r"HloModule\b")
_NAME = r"%?[A-Za-z_][\w.\-]*"
_SHAPE = r"(?:[a-z][a-z0-9]*\[[^\]\n]*\]|\(|token\b|opaque\b|b\()"
_INSTRUCTION = rf"(?:ROOT\s+)?{_NAME}\s*=\s*{_SHAPE}"
_COMPUTATION = re.compile(
    rf"(?:ENTRY\s+)?{_NAME}\s*(?:\([^{{}}]*\)\s*->\s*{_SHAPE}[^\n]*\{{|\{{\s*{_INSTRUCTION})|{_INSTRUCTION}[^\n]*\(",
)


@dataclass(frozen=True)
class Candidate:
    """A file that may hold HLO: where it is, what to call it in a table, and its size in bytes."""

    path: str
    label: str
    size: int


def candidates(paths: Iterable[str | os.PathLike[str]]) -> Iterator[Candidate]:
    """The files of these paths: each path in the given order, folders depth first in the order of their names.

    Links to files are followed, links to folders inside a folder are not, so that no tree is endless.  Raises
    ``FileNotFoundError`` for a path that is not there, before the first file is given.
    """
    roots = [os.fspath(path) for path in paths]
    for root in roots:
        os.stat(root)
    return _walk(roots)


def _walk(roots: list[str]) -> Iterator[Candidate]:
    waiting = roots[::-1]
    given = set(roots)
    while waiting:
        path = waiting.pop()
        try:
            about = os.stat(path)
            if stat.S_ISDIR(about.st_mode):
                if path in given or not os.path.islink(path):
                    inside = sorted(os.listdir(path), reverse=True)
                    waiting.extend(os.path.join(path, name) for name in inside)
                continue
            size = about.st_size
        except OSError:  # it shows again, with its reason, when the file is opened
            size = 0
        yield Candidate(path, _label(path), size)


def _label(path: str) -> str:
    """The path as text for a table: slashes everywhere, bytes that are no UTF-8 escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace").replace(os.sep, "/")


def content_kind(file: Candidate) -> str:
    """``"HLO"``, or the reason why the file is left out.  Raises ``OSError`` where it cannot be read.

    >>> _kind(b"HloModule m"), _kind(b"digraph G {"), _kind(b"")
    ('HLO', 'other text', 'empty')
    """
    if not stat.S_ISREG(os.stat(file.path).st_mode):
        return "no regular file"
    with open(file.path, "rb") as stream:
        return _kind(stream.read(_HEAD_BYTES))


def _kind(head: bytes) -> str:
    if not head:
        return "empty"
    packed, head = unpack_head(head, _HEAD_BYTES)
    if packed is not None and not head:
        return f"compressed ({packed})"
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    start = _BLANK.match(text)
    place = start.end() if start else 0
    if _HEADER.match(text, place) or _COMPUTATION.match(text, place) or is_module_head(head):
        return "HLO"
    return "binary" if b"\x00" in head or "\ufffd" in text[:-3] else "other text"
