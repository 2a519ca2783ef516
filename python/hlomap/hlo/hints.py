"""Says what a source is that is not HLO: XLA's other dumps, common kinds of files, the path of a file, nothing at all.

:func:`explain_source` is the entry point.  It only adds to an error that the reader has already raised.
"""

from __future__ import annotations

import os
import re

from .._core import unpack_head
from ..errors import HloSyntaxError
from .discover import RIEGELI

_HEAD = 1 << 12
_KINDS = (
    (rb"BufferAssignment:", "XLA's buffer assignment"),
    (rb"HloLiveRange\b", "XLA's report of live ranges"),
    (rb"Memory Space:", "XLA's report of memory usage"),
    (rb"xla_\w+: ", "XLA's debug options"),
    (rb"executable_build_options \{", "XLA's compile options"),
    (rb"; ModuleID = |source_filename = |target datalayout", "LLVM IR"),
    (rb"(?://[^\n]*\n|\s)*\.version \d", "PTX"),
    (rb"\x7fELF", "a compiled program (ELF)"),
    (rb"(?:strict )?(?:di)?graph \w* *\{", "a graph for Graphviz"),
    (rb"(?i:<!DOCTYPE html|<html)", "a page of HTML"),
    (rb"PAR1", "a Parquet file"),
    (rb"PK\x03\x04", "a zip archive"),
)
_KINDS_BY_HEAD = tuple((re.compile(pattern), kind) for pattern, kind in _KINDS)
_PATH = re.compile(r"[^\n{}()=,;]+\.(?:txt|hlo|pb|mlir|mlirbc|gz|xz|zst)")
_DUMP = "to dump HLO, set XLA_FLAGS=--xla_dump_to=DIR or use hm.from_jax"


def explain_source(error: HloSyntaxError, source: str | bytes) -> None:
    """Adds a line to the message of an error: what the source is, and what to do."""
    hint = _hint(source, is_first_word=(error.expected or "").startswith(("`HloModule`", "HLO text")))
    if hint is not None and error.args:
        error.args = (f"{error.args[0].rstrip()}\nnote: {hint}", *error.args[1:])


def _hint(source: str | bytes, *, is_first_word: bool) -> str | None:
    """A note on a source that the reader refused, maybe at its first word; None where it may be HLO with a typo."""
    if not source.strip():
        return f"the source is empty; {_DUMP}"
    if isinstance(source, str):
        if _is_path(source):
            return f"this is a path: hm.load({source!r}) reads the file"
        head = source[:_HEAD].encode("utf-8", "replace")
    else:
        head = unpack_head(source, _HEAD)[1]
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(RIEGELI):
        return "this is a Riegeli file; dump with --xla_dump_hlo_as_text or --xla_dump_hlo_as_proto"
    kind = next((kind for pattern, kind in _KINDS_BY_HEAD if pattern.match(head)), None)
    if kind is not None:
        return f"this is {kind}, not HLO; {_DUMP}"
    return None if head.startswith((b"Hlo", b"ENTRY")) or not is_first_word else f"this does not look like HLO; {_DUMP}"


def _is_path(text: str) -> bool:
    if len(text) > 4096 or "\n" in text or "\0" in text:
        return False
    try:
        return _PATH.fullmatch(text) is not None or os.path.exists(text)
    except ValueError:
        return False
