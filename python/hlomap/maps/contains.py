"""Decides whether one map contains another.

:func:`contains` is the entry point.  Invariant: True and False are proven, None is undecided.  True is found by
expressing the outer map's ranges in the inner map's variables; where that fails and there are few points, the points
are compared.
"""

from __future__ import annotations

from .._core import Expr, IndexingMap
from .enumerate_pairs import EnumerationLimitError, enumerate_pairs

__all__ = ["contains"]

_MAX_POINTS = 1 << 14


def contains(outer: IndexingMap, inner: IndexingMap) -> bool | None:
    """Whether ``outer`` relates every point of the dimensions to all elements that ``inner`` relates it to.

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
    if _contains_by_substitution(outer, inner):
        return True
    if outer.runtime or inner.runtime:
        return None
    try:
        source = [max(a.upper, b.upper) + 1 for a, b in zip(outer.dims, inner.dims, strict=True)]
        target = [max(outer.bounds(i)[1], inner.bounds(i)[1]) + 1 for i in range(len(inner.results))]
        outer_pairs = {
            *zip(*(x.tolist() for x in enumerate_pairs(outer, source, target, {}, _MAX_POINTS)), strict=True)
        }
        inner_pairs = {
            *zip(*(x.tolist() for x in enumerate_pairs(inner, source, target, {}, _MAX_POINTS)), strict=True)
        }
    except (EnumerationLimitError, ValueError, OverflowError):
        return None
    return inner_pairs <= outer_pairs


def _contains_by_substitution(outer: IndexingMap, inner: IndexingMap) -> bool:
    """Whether a choice of the outer map's ranges at each point of ``inner`` makes all results equal."""
    chosen: dict[int, Expr] = {}
    for outer_result, inner_result in zip(outer.results, inner.results, strict=True):
        if outer_result.kind == "range":
            number = next(i for i in range(len(outer.ranges)) if outer_result == Expr.range(i))
            if chosen.setdefault(number, inner_result) != inner_result:
                return False
    # A range that no result determines may take any of its values.
    for i, variable in enumerate(outer.ranges):
        chosen.setdefault(i, Expr.constant(variable.lower))
    runtime = _match_runtime(outer, inner)
    if runtime is None:
        return False
    ranges = [chosen[i] for i in range(len(outer.ranges))]
    dims = [Expr.dim(i) for i in range(len(outer.dims))]

    def substitute(e: Expr) -> Expr:
        return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

    try:
        domain = [
            *((Expr.dim(i), v.lower, v.upper) for i, v in enumerate(outer.dims)),
            *((chosen[i], v.lower, v.upper) for i, v in enumerate(outer.ranges)),
            *((substitute(c.expr), c.lower, c.upper) for c in outer.constraints),
        ]
        return all(substitute(a) == b for a, b in zip(outer.results, inner.results, strict=True)) and all(
            _implies(inner, e, lower, upper) for e, lower, upper in domain
        )
    except (ValueError, OverflowError):
        return False


def _implies(m: IndexingMap, e: Expr, lower: int, upper: int) -> bool:
    """Whether the map's domain is known to imply ``lower <= e <= upper``."""
    if any(c.expr == e and lower <= c.lower and c.upper <= upper for c in m.constraints):
        return True
    least, greatest = m.bounds(e)
    return lower <= least and greatest <= upper


def _match_runtime(outer: IndexingMap, inner: IndexingMap) -> list[Expr] | None:
    """For each runtime variable of ``outer`` the inner one with equal source, bounds and index; None if one has none.

    Indices that use ranges do not match, since equal names there are different variables.
    """
    matched: list[Expr] = []
    for v in outer.runtime:
        for i, w in enumerate(inner.runtime):
            same = (v.source, v.lower, v.upper) == (w.source, w.lower, w.upper) and v.source is not None
            if same and v.index == w.index and not any("s" in str(e) for e in v.index):
                matched.append(Expr.runtime(i))
                break
        else:
            return None
    return matched
