"""Whether one map mentions everything that another does.

:func:`contains` is the way in.  The law: True and False are proven, None means that it is not known.  True is found by
writing the outer map's ranges as expressions of the inner map; where that does not work and there are few points, they
are compared.
"""

from __future__ import annotations

from .._core import Expr, IndexingMap
from .enumerate_pairs import TooMany, enumerate_pairs

__all__ = ["contains"]

_MAX_POINTS = 1 << 14


def contains(outer: IndexingMap, inner: IndexingMap) -> bool | None:
    """Whether every element that ``inner`` has for a point of its dimensions is one that ``outer`` has for it.

    >>> whole = IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 7]")
    >>> contains(whole, IndexingMap.parse("(d0) -> (d0 + 3), domain: d0 in [0, 4]"))
    True
    >>> contains(whole, IndexingMap.parse("(d0) -> (d0 + 4), domain: d0 in [0, 4]"))
    False
    """
    if inner.is_known_empty or outer == inner:
        return True
    if len(outer.dims) != len(inner.dims):
        return False
    if outer.is_known_empty:
        return inner.is_empty().equal
    if len(outer.results) != len(inner.results):
        return False
    if _rewritten(outer, inner):
        return True
    if outer.runtime or inner.runtime:
        return None
    try:
        dims = [max(a.upper, b.upper) + 1 for a, b in zip(outer.dims, inner.dims, strict=True)]
        target = [max(outer.bounds(i)[1], inner.bounds(i)[1]) + 1 for i in range(len(inner.results))]
        have = {*zip(*(x.tolist() for x in enumerate_pairs(outer, dims, target, {}, _MAX_POINTS)), strict=True)}
        want = {*zip(*(x.tolist() for x in enumerate_pairs(inner, dims, target, {}, _MAX_POINTS)), strict=True)}
    except (TooMany, ValueError, OverflowError):
        return None
    return want <= have


def _rewritten(outer: IndexingMap, inner: IndexingMap) -> bool:
    """Whether the ranges of ``outer`` can be chosen for each point of ``inner`` so that both lead to the same place."""
    chosen: dict[int, Expr] = {}
    for own, wanted in zip(outer.results, inner.results, strict=True):
        if own.kind == "range":
            number = next(i for i in range(len(outer.ranges)) if own == Expr.range(i))
            if chosen.setdefault(number, wanted) != wanted:
                return False
    # A range that the results do not determine may be anything it can be.
    for i, variable in enumerate(outer.ranges):
        chosen.setdefault(i, Expr.constant(variable.lower))
    runtime = _runtime(outer, inner)
    if runtime is None:
        return False
    ranges = [chosen[i] for i in range(len(outer.ranges))]
    dims = [Expr.dim(i) for i in range(len(outer.dims))]

    def moved(e: Expr) -> Expr:
        return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

    try:
        within = [
            *((Expr.dim(i), v.lower, v.upper) for i, v in enumerate(outer.dims)),
            *((chosen[i], v.lower, v.upper) for i, v in enumerate(outer.ranges)),
            *((moved(c.expr), c.lower, c.upper) for c in outer.constraints),
        ]
        return all(moved(a) == b for a, b in zip(outer.results, inner.results, strict=True)) and all(
            _holds(inner, e, lower, upper) for e, lower, upper in within
        )
    except (ValueError, OverflowError):
        return False


def _holds(m: IndexingMap, e: Expr, lower: int, upper: int) -> bool:
    if any(c.expr == e and lower <= c.lower and c.upper <= upper for c in m.constraints):
        return True
    least, greatest = m.bounds(e)
    return lower <= least and greatest <= upper


def _runtime(outer: IndexingMap, inner: IndexingMap) -> list[Expr] | None:
    """The inner map's variable for each of the outer's: the same source, index and range; indices without ranges."""
    found: list[Expr] = []
    for v in outer.runtime:
        for i, w in enumerate(inner.runtime):
            same = (v.source, v.lower, v.upper) == (w.source, w.lower, w.upper) and v.source is not None
            if same and v.index == w.index and not any("s" in str(e) for e in v.index):
                found.append(Expr.runtime(i))
                break
        else:
            return None
    return found
