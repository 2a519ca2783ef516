"""What one map mentions and another does not, as maps with more constraints.

:func:`subtract` is the way in.  The law: where a map leads to an element that the other one leads to, too, the other
one's ranges are what the element says; so "the other one leads there" is a conjunction of constraints, and its
complement a union of disjoint maps, each of which keeps some of them and breaks the next.  Where the element does not
say the ranges the answer is a reason: nothing is taken away on a guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._core import Expr, IndexingMap, Variable
from ..errors import HlomapError

__all__ = ["MAX_MEMBERS", "subtract"]

MAX_MEMBERS = 64
"""Maps that a difference may have; of more it is said that there are too many."""

Condition = tuple[Expr, int, int]


class _Meeting(NamedTuple):
    """That another map leads to where this one does: constraints, and runtime variables that only the other one has."""

    conditions: list[Condition]
    runtime: list[Variable]


def subtract(m: IndexingMap, taken: Sequence[IndexingMap]) -> list[IndexingMap] | str:
    """The part of a map that none of the others mentions, as disjoint maps, or why that cannot be said.

    >>> own = IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 9]")
    >>> for part in subtract(own, [IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [4, 6]")]):
    ...     print(part)
    (d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 3]
    (d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [7, 9]
    """
    parts = [m]
    for other in taken:
        left: list[IndexingMap] = []
        for part in parts:
            try:
                found = _without(part, other)
            except (HlomapError, OverflowError, ValueError) as error:
                return str(error)
            if isinstance(found, str):
                return found
            left += found
            if len(left) > MAX_MEMBERS:
                return f"a difference of more than {MAX_MEMBERS} maps"
        parts = left
    return parts


def _without(m: IndexingMap, other: IndexingMap) -> list[IndexingMap] | str:
    if m.is_known_empty or other.is_known_empty:
        return [] if m.is_known_empty else [m]
    if len(m.dims) != len(other.dims) or len(m.results) != len(other.results):
        return "maps of other numbers of dimensions or results"
    if m == other:
        return []
    meeting = _meeting(m, other)
    if isinstance(meeting, str):
        return meeting
    kept: list[Condition] = []
    parts: list[IndexingMap] = []
    here = _with(m, meeting.runtime, ())
    for e, lower, upper in meeting.conditions:
        least, greatest = here.bounds(e)
        if greatest < lower or upper < least:
            return [m]  # they never meet
        if lower <= least and greatest <= upper:
            continue
        for low, high in ((least, lower - 1), (upper + 1, greatest)):
            if low <= high:
                part = _with(m, meeting.runtime, [*kept, (e, low, high)]).simplify(drop_unused=True)
                if not part.is_known_empty and part.is_empty().equal is not True:
                    parts.append(part)
        kept.append((e, lower, upper))
    return parts


def _with(m: IndexingMap, runtime: Sequence[Variable], conditions: Sequence[Condition]) -> IndexingMap:
    own = [(c.expr, c.lower, c.upper) for c in m.constraints]
    return IndexingMap(
        m.dims, m.results, ranges=m.ranges, runtime=[*m.runtime, *runtime], constraints=[*own, *conditions]
    )


def _meeting(m: IndexingMap, other: IndexingMap) -> _Meeting | str:
    dims = [Expr.dim(i) for i in range(len(m.dims))]
    chosen: dict[int, Expr] = {}
    conditions: list[Condition] = [(dims[i], v.lower, v.upper) for i, v in enumerate(other.dims)]
    runtime: list[Expr] = []
    added: list[Variable] = []

    def placed(e: Expr) -> Expr:
        """An expression of the other map, whose ranges are chosen, in the variables of this one."""
        ranges = [chosen.get(i, Expr.range(i)) for i in range(len(other.ranges))]
        return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

    def unsolved(e: Expr) -> set[int]:
        return _ranges_in(e) - chosen.keys()

    pending = list(zip(other.results, m.results, strict=True))
    while True:
        solved = False
        for at, (theirs, own) in enumerate(pending):
            if unsolved(theirs) and not _runtimes_in(theirs):
                digits = _digits(theirs, unsolved(theirs), other)
                if digits is None:
                    continue
                rest, factors = digits
                value = own - placed(rest)
                for i, k in factors:
                    chosen[i] = value // k if k > 0 else -(value // -k)
                    value = value % abs(k)
                conditions.append((value, 0, 0))
                del pending[at]
                solved = True
                break
        if not solved:
            break
    free = set(range(len(other.ranges))) - chosen.keys()
    mentioned = [theirs for theirs, _ in pending] + [c.expr for c in other.constraints]
    mentioned += [e for v in other.runtime for e in v.index]
    if any(free & _ranges_in(e) for e in mentioned):
        return "which of its elements a map means does not follow from where it leads"
    for i in free:
        chosen[i] = Expr.constant(other.ranges[i].lower)
    for v in other.runtime:
        index = [placed(e) for e in v.index]
        known = [*m.runtime, *added]
        same = (
            k
            for k, w in enumerate(known)
            if v.source is not None
            and (v.source, v.lower, v.upper, index) == (w.source, w.lower, w.upper, list(w.index))
        )
        place = next(same, None)
        if place is None and v.source is None:
            return "a runtime value without a source"
        if place is None:
            place = len(known)
            added.append(Variable(None, v.lower, v.upper, source=v.source, index=index))
        runtime.append(Expr.runtime(place))
    conditions += [(chosen[i], v.lower, v.upper) for i, v in enumerate(other.ranges) if i not in free]
    conditions += [(placed(theirs) - own, 0, 0) for theirs, own in pending]
    conditions += [(placed(c.expr), c.lower, c.upper) for c in other.constraints]
    return _Meeting(conditions, added)


def _digits(e: Expr, ranges: set[int], other: IndexingMap) -> tuple[Expr, list[tuple[int, int]]] | None:
    """``rest + sum of factor * range``, largest factor first, where the sum of those behind is less than a factor.

    Then the sum says each of the ranges, as a number says its digits.
    """
    rest = e
    factors: list[tuple[int, int]] = []
    for i in sorted(ranges):
        step = _with_range(e, i, Expr.range(i) + 1) - e
        if step.kind != "constant" or not step.value:
            return None
        rest = _with_range(rest, i, Expr.constant(0))
        factors.append((i, step.value))
    factors.sort(key=lambda factor: -abs(factor[1]))
    room = 0
    for i, k in reversed(factors):
        v = other.ranges[i]
        if len(factors) > 1 and (k < 1 or v.lower < 0 or room >= k):
            return None
        room += k * v.upper
    return rest, factors


def _with_range(e: Expr, i: int, new: Expr) -> Expr:
    return e.substitute(ranges=[*(Expr.range(j) for j in range(i)), new])


def _ranges_in(e: Expr) -> set[int]:
    return {number for kind, number in _variables(e) if kind == "range"}


def _runtimes_in(e: Expr) -> bool:
    return any(kind == "runtime" for kind, _ in _variables(e))


def _variables(e: Expr) -> set[tuple[str, int]]:
    """The variables of an expression by kind and number."""
    found: set[tuple[str, int]] = set()
    pending = [e]
    while pending:
        here = pending.pop()
        pending.extend(here.operands)
        if here.kind in ("dim", "range", "runtime") and here.value is not None:
            found.add((here.kind, here.value))
    return found
