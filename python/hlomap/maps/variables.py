"""The variables of an expression, and what supplies those of a map."""

from __future__ import annotations

from .._core import Expr, IndexingMap, Instruction

_KINDS = frozenset(["dim", "range", "runtime"])


def variables_of(e: Expr) -> list[tuple[str, int]]:
    """The kind and number of each variable, once; a part that occurs again is not walked again.

    >>> variables_of(Expr.parse("d0 * 4 + s1 mod d0"))
    [('dim', 0), ('range', 1)]
    """
    found: dict[tuple[str, int], None] = {}
    pending, seen = [e], {e}
    while pending:
        here = pending.pop()
        if here.kind in _KINDS:
            found[here.kind, here.value or 0] = None
        new = [operand for operand in here.operands if operand not in seen]
        seen.update(new)
        pending += new
    return list(found)


def numbers_of(e: Expr, kind: str) -> list[int]:
    """The numbers of the variables of one kind: ``"dim"``, ``"range"`` or ``"runtime"``."""
    return [number for own, number in variables_of(e) if own == kind]


def suppliers_of(m: IndexingMap) -> dict[int, Instruction]:
    """The instructions that supply the runtime variables of a map, by source."""
    return {v.source: v.supplier for v in m.runtime if v.source is not None and v.supplier is not None}
