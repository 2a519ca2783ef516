"""Recognizes MLIR by content: text, and bytecode by its magic bytes, which portable StableHLO artifacts have as well.

:func:`mlir_kind` is for files whose kind is unknown, :func:`unpacked_mlir` for sources that are not HLO.  Nothing is
converted here: :mod:`hlomap.hlo.stablehlo` does that with the MLIR in jaxlib.
"""

from __future__ import annotations

import re

from .._core import unpack_head

_MAGIC = b"ML\xefR"
_HEAD = 1 << 16
# The bounds that the reader of HLO has for compressed data.
_FLOOR, _GROWTH = 64 << 20, 100

_BLANK = re.compile(rb"(?:\s+|//[^\n]*(?:\n|\Z))*")
_START = re.compile(
    rb"module\b\s*(?:@|attributes\b|\{)|func\.func\b|\"(?:builtin\.module|func\.func)\"\s*\(|builtin\.module\b|#\w+\s*="
)
_DIALECT = re.compile(rb"\b(?:stablehlo|vhlo|mhlo|chlo|sdy)\.")


def mlir_kind(head: bytes) -> str | None:
    """``"StableHLO"`` for the beginning of a StableHLO program, ``None`` for anything else.

    >>> mlir_kind(b'module @m { func.func @main() { %0 = stablehlo.constant'), mlir_kind(b"module @m { llvm.func @f()")
    ('StableHLO', None)
    """
    if head.startswith(_MAGIC) or (_is_text(head) and _DIALECT.search(head)):
        return "StableHLO"
    return None


def unpacked_mlir(source: str | bytes) -> str | bytes | None:
    """The source without its compression, if it is MLIR; otherwise ``None``."""
    if isinstance(source, str):
        return source if _is_text(source[:_HEAD].encode("utf-8", "replace")) else None
    compression, head = unpack_head(source, _HEAD)
    if not (head.startswith(_MAGIC) or _is_text(head)):
        return None
    if compression is not None:
        source = unpack_head(source, max(_FLOOR, _GROWTH * len(source)))[1]
    return source


def _is_text(head: bytes) -> bool:
    head = head.removeprefix(b"\xef\xbb\xbf")
    begin = _BLANK.match(head)
    return _START.match(head, begin.end() if begin else 0) is not None
