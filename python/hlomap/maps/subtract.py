"""Set difference of maps: the pairs of one map that another does not have, as maps with more constraints.

:func:`subtract` is the entry point.  Invariant: where the results of the subtracted map determine its ranges, "it
relates the point to this element" is a conjunction of constraints on the variables of the first map.  The complement is
a union of disjoint maps, each of which satisfies some of the constraints and violates the next.  Where the results do
not determine the ranges, the outcome is a reason and nothing is subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._core import Expr, IndexingMap, Variable
from ..errors import HlomapError

__all__ = ["MAX_MEMBERS", "subtract"]

MAX_MEMBERS = 64
"""The most maps that a difference may have."""

Condition = tuple[Expr, int, int]


class _Intersection(NamedTuple):
    """The condition under which another map has a pair of this one: constraints, and runtime variables of the other."""

    conditions: list[Condition]
    runtime: list[Variable]


def subtract(m: IndexingMap, others: Sequence[IndexingMap]) -> list[IndexingMap] | str:
    """The pairs of a map that none of the others has, as disjoint maps, or the reason why they cannot be found.

    >>> own = IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 9]")
    >>> for part in subtract(own, [IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [4, 6]")]):
    ...     print(part)
    (d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 3]
    (d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [7, 9]
    """
    parts = [m]
    for other in others:
        remaining: list[IndexingMap] = []
        for part in parts:
            try:
                difference = _subtract_one(part, other)
            except (HlomapError, OverflowError, ValueError) as error:
                return str(error)
            if isinstance(difference, str):
                return difference
            remaining += difference
            if len(remaining) > MAX_MEMBERS:
                return f"the difference has more than {MAX_MEMBERS} maps"
        parts = remaining
    return parts


def _subtract_one(m: IndexingMap, other: IndexingMap) -> list[IndexingMap] | str:
    if m.is_known_empty or other.is_known_empty:
        return [] if m.is_known_empty else [m]
    if len(m.dims) != len(other.dims) or len(m.results) != len(other.results):
        return "the maps have different numbers of dims or results"
    if m == other:
        return []
    common = _intersect(m, other)
    if isinstance(common, str):
        return common
    kept: list[Condition] = []
    parts: list[IndexingMap] = []
    extended = _constrain(m, common.runtime, ())
    for e, lower, upper in common.conditions:
        least, greatest = extended.bounds(e)
        if greatest < lower or upper < least:
            return [m]  # the maps are disjoint
        if lower <= least and greatest <= upper:
            continue
        for low, high in ((least, lower - 1), (upper + 1, greatest)):
            if low <= high:
                part = _constrain(m, common.runtime, [*kept, (e, low, high)]).simplify(drop_unused=True)
                if not part.is_known_empty and part.is_empty().equal is not True:
                    parts.append(part)
        kept.append((e, lower, upper))
    return parts


def _constrain(m: IndexingMap, runtime: Sequence[Variable], conditions: Sequence[Condition]) -> IndexingMap:
    own = [(c.expr, c.lower, c.upper) for c in m.constraints]
    return IndexingMap(
        m.dims, m.results, ranges=m.ranges, runtime=[*m.runtime, *runtime], constraints=[*own, *conditions]
    )


def _intersect(m: IndexingMap, other: IndexingMap) -> _Intersection | str:
    dims = [Expr.dim(i) for i in range(len(m.dims))]
    solved: dict[int, Expr] = {}
    conditions: list[Condition] = [(dims[i], v.lower, v.upper) for i, v in enumerate(other.dims)]
    runtime: list[Expr] = []
    added: list[Variable] = []

    def translate(e: Expr) -> Expr:
        """An expression of the other map, all of whose ranges are solved, in the variables of this one."""
        ranges = [solved.get(i, Expr.range(i)) for i in range(len(other.ranges))]
        return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

    def unsolved(e: Expr) -> set[int]:
        return _ranges_in(e) - solved.keys()

    pending = list(zip(other.results, m.results, strict=True))
    while True:
        progress = False
        for at, (theirs, own) in enumerate(pending):
            if unsolved(theirs) and not _has_runtime(theirs):
                split = _split_mixed_radix(theirs, unsolved(theirs), other)
                if split is None:
                    continue
                rest, factors = split
                value = own - translate(rest)
                for i, k in factors:
                    solved[i] = value // k if k > 0 else -(value // -k)
                    value = value % abs(k)
                conditions.append((value, 0, 0))
                del pending[at]
                progress = True
                break
        if not progress:
            break
    unused = set(range(len(other.ranges))) - solved.keys()
    mentioned = [theirs for theirs, _ in pending] + [c.expr for c in other.constraints]
    mentioned += [e for v in other.runtime for e in v.index]
    if any(unused & _ranges_in(e) for e in mentioned):
        return "the results of a map do not determine its ranges"
    for i in unused:
        solved[i] = Expr.constant(other.ranges[i].lower)
    for v in other.runtime:
        index = [translate(e) for e in v.index]
        known = [*m.runtime, *added]
        equal = (
            k
            for k, w in enumerate(known)
            if v.source is not None
            and (v.source, v.lower, v.upper, index) == (w.source, w.lower, w.upper, list(w.index))
        )
        number = next(equal, None)
        if number is None and v.source is None:
            return "a runtime variable has no source"
        if number is None:
            number = len(known)
            added.append(Variable(None, v.lower, v.upper, source=v.source, index=index))
        runtime.append(Expr.runtime(number))
    conditions += [(solved[i], v.lower, v.upper) for i, v in enumerate(other.ranges) if i not in unused]
    conditions += [(translate(theirs) - own, 0, 0) for theirs, own in pending]
    conditions += [(translate(c.expr), c.lower, c.upper) for c in other.constraints]
    return _Intersection(conditions, added)


def _split_mixed_radix(e: Expr, ranges: set[int], other: IndexingMap) -> tuple[Expr, list[tuple[int, int]]] | None:
    """``rest`` and (range, factor) pairs, largest factor first, with ``e = rest + sum of factor * range``.

    None unless each factor exceeds the largest sum of the terms behind it: then the ranges are the digits of a
    mixed-radix number, and the sum determines each of them.
    """
    rest = e
    factors: list[tuple[int, int]] = []
    for i in sorted(ranges):
        step = _substitute_range(e, i, Expr.range(i) + 1) - e
        if step.kind != "constant" or not step.value:
            return None
        rest = _substitute_range(rest, i, Expr.constant(0))
        factors.append((i, step.value))
    factors.sort(key=lambda factor: -abs(factor[1]))
    greatest = 0
    for i, k in reversed(factors):
        v = other.ranges[i]
        if len(factors) > 1 and (k < 1 or v.lower < 0 or greatest >= k):
            return None
        greatest += k * v.upper
    return rest, factors


def _substitute_range(e: Expr, i: int, new: Expr) -> Expr:
    return e.substitute(ranges=[*(Expr.range(j) for j in range(i)), new])


def _ranges_in(e: Expr) -> set[int]:
    return {number for kind, number in _variables(e) if kind == "range"}


def _has_runtime(e: Expr) -> bool:
    return any(kind == "runtime" for kind, _ in _variables(e))


def _variables(e: Expr) -> set[tuple[str, int]]:
    """The variables of an expression by kind and number."""
    found: set[tuple[str, int]] = set()
    pending = [e]
    while pending:
        node = pending.pop()
        pending.extend(node.operands)
        if node.kind in ("dim", "range", "runtime") and node.value is not None:
            found.add((node.kind, node.value))
    return found
