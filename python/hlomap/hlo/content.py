"""Recognizes programs and other kinds of files by their first bytes, never by their names.

:func:`content_of` is the entry point.  Nothing is parsed: a file that begins like HLO and is malformed later still
counts as HLO.
"""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

from .._core import form_of_head, unpack_head

HEAD_BYTES = 1 << 16
"""The number of bytes at the beginning of a file that decide."""

RIEGELI = b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f"
"""The first bytes of a Riegeli file."""

_BLANK = re.compile(r"(?:\s+|//[^\n\r]*(?:[\n\r]|\Z)|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_HEADER = re.compile(r"HloModule\b")
_NAME = r"%?[A-Za-z_][\w.\-]*"
_SHAPE = r"(?:[a-z][a-z0-9]*\[[^\]\n]*\]|\(|token\b|opaque\b|b\()"
_INSTRUCTION = rf"(?:ROOT\s+)?{_NAME}\s*=\s*{_SHAPE}"
_COMPUTATION = re.compile(
    rf"(?:ENTRY\s+)?{_NAME}\s*(?:\([^{{}}]*\)\s*->\s*{_SHAPE}[^\n]*\{{|\{{\s*{_INSTRUCTION})|{_INSTRUCTION}[^\n]*\(",
)

# Bytecode, which portable StableHLO artifacts are as well, and text.
_MLIR_BYTECODE = b"ML\xefR"
_MLIR = re.compile(
    r"module\b\s*(?:@|attributes\b|\{)|func\.func\b|\"(?:builtin\.module|func\.func)\"\s*\(|builtin\.module\b|#\w+\s*="
)
_STABLEHLO = re.compile(r"\b(?:stablehlo|vhlo|mhlo|chlo|sdy)\.")

_OTHERS = tuple(
    (re.compile(pattern), title)
    for pattern, title in (
        (r"BufferAssignment:", "XLA's buffer assignment"),
        (r"HloLiveRange\b", "XLA's report of live ranges"),
        (r"Memory Space:", "XLA's report of memory usage"),
        (r"xla_\w+: ", "XLA's debug options"),
        (r"executable_build_options \{", "XLA's compile options"),
        (r"; ModuleID = |source_filename = |target datalayout", "LLVM IR"),
        (r"(?://[^\n]*\n|\s)*\.version \d", "PTX"),
        (r"\x7fELF", "a compiled program (ELF)"),
        (r"(?:strict )?(?:di)?graph \w* *\{", "a graph for Graphviz"),
        (r"(?i:<!DOCTYPE html|<html)", "a page of HTML"),
        (r"PAR1", "a Parquet file"),
        (r"PK\x03\x04", "a zip archive"),
    )
)

_COMPILE_INPUT = re.compile(r"(?:^|/)module_\d+\.[^/]+/(?:module\.mlir|compile_options\.|topology\.)[\w.]*$")


class Content(NamedTuple):
    """The kind of some bytes."""

    kind: str
    """``"HLO"``, ``"StableHLO"``, or the kind of a file that is not a program."""
    form: str | None = None
    """The form of a program: ``"text"``, ``"proto"`` or ``"trace"`` of HLO, or ``"StableHLO"``.  A trace of XLA's
    profiler has the HLO of any number of programs."""
    title: str | None = None
    """The kind of a file that is not a program as messages name it, if known."""
    is_mlir: bool = False
    """Whether the bytes are MLIR, of StableHLO or of other dialects."""

    @property
    def is_program(self) -> bool:
        """Whether the bytes are a program: HLO, or StableHLO, which jaxlib converts."""
        return self.kind in ("HLO", "StableHLO")


def content_of(head: bytes) -> Content:
    """The content of bytes, which may be compressed, by the first 64 KiB.

    >>> content_of(b"HloModule m")[:2], content_of(b"digraph G {")[:3], content_of(b"").kind
    (('HLO', 'text'), ('other text', None, 'a graph for Graphviz'), 'empty')
    >>> content_of(b"module @m { func.func @main() { %0 = stablehlo.constant").kind
    'StableHLO'
    """
    if not head:
        return Content("empty")
    compression, head = unpack_head(head, HEAD_BYTES)
    if compression is not None and not head:
        return Content(f"compressed ({compression})")
    if head.startswith(RIEGELI):
        return Content("Riegeli", title="a Riegeli file")
    if head.startswith(_MLIR_BYTECODE):
        return Content("StableHLO", "StableHLO", is_mlir=True)
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    start = _BLANK.match(text)
    begin = start.end() if start else 0
    if _HEADER.match(text, begin) or _COMPUTATION.match(text, begin):
        return Content("HLO", "text")
    if form := form_of_head(head):
        return Content("HLO", form)
    is_mlir = _MLIR.match(text, begin) is not None
    if is_mlir and _STABLEHLO.search(text):
        return Content("StableHLO", "StableHLO", is_mlir=True)
    kind = "binary" if b"\x00" in head or "\ufffd" in text[:-3] else "other text"
    stripped = text.lstrip()
    return Content(kind, None, next((title for start, title in _OTHERS if start.match(stripped)), None), is_mlir)


def content_of_file(path: str | os.PathLike[str]) -> Content:
    """The content of a file.  Raises ``OSError`` if the file cannot be read."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return Content("not a regular file")
    with open(path, "rb") as stream:
        return content_of(stream.read(HEAD_BYTES))


def kind_of_name(name: str) -> str | None:
    """The kind of a file that XLA writes in addition to the modules of a dump, in a folder for each compilation; else
    ``None``.

    Such a file contains the module before optimizations, which the dump also has as a separate file.

    >>> kind_of_name("dump/module_0001.jit_f/module.mlir"), kind_of_name("dump/module_0001.jit_f.something.txt")
    ('input of a compilation', None)
    """
    return "input of a compilation" if _COMPILE_INPUT.search(name) else None
