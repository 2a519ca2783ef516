"""Set difference and intersection of maps: the pairs of one map that another one lacks or has, as maps.

:func:`subtract` and :func:`intersect` are the entry points.  If the results of the second map determine its ranges,
"the second map has this pair" is a conjunction of constraints on the variables of the first map.  The complement is a
union of disjoint maps, each of which satisfies some of the constraints and violates the next.  If the results do not
determine the ranges, nothing is subtracted and the outcome is a reason; an intersection keeps these ranges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._core import Expr, IndexingMap, Variable, _n_steps, _overlap, bounds_many
from ..base.lazy import np, npt
from ..errors import HlomapError
from .variables import numbers_of

MAX_MEMBERS = 64
"""The most maps that a difference may have."""

MAX_WORK = 1 << 12  # comparisons of maps, hard ones counting several times; about ten seconds

_TOO_MUCH_WORK = f"the difference takes more than {MAX_WORK} comparisons of maps"

Condition = tuple[Expr, int, int]


class Effort:
    """The budget of one question about sets, which may have many maps that are hard to compare."""

    def __init__(self, work: int | None = None) -> None:
        self._left = MAX_WORK if work is None else work
        self._n_steps = _n_steps()

    def spend(self, n: int = 1) -> bool:
        """Counts ``n`` comparisons of maps, and the steps since the last call; False once the budget is spent."""
        n_steps = (_n_steps() - self._n_steps) // 8
        self._n_steps += 8 * n_steps
        self._left -= n + n_steps
        return self._left >= 0


class _Intersection(NamedTuple):
    """The condition under which another map has a pair of this one: constraints, and variables of the other.

    ``ranges`` are not determined by the results: the other map has the pair if some of their values satisfy the
    constraints.
    """

    conditions: list[Condition]
    ranges: list[Variable]
    runtime: list[Variable]


def subtract(m: IndexingMap, others: Sequence[IndexingMap], effort: Effort | None = None) -> list[IndexingMap] | str:
    """The pairs of a map that none of the others has, as disjoint maps, or the reason why they cannot be found.

    >>> own = IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 9]")
    >>> for part in subtract(own, [IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [4, 6]")]):
    ...     print(part)
    (d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 3]
    (d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [7, 9]
    """
    if m in others:
        return []
    effort = effort or Effort()
    found = _subtract_all(m, others, effort)
    if not isinstance(found, str):
        return found
    # A map that reaches no common element needs no difference, which may not exist in this form.
    meeting = [
        k
        for k in others
        if not effort.spend() or len(k.results) != len(m.results) or _overlap([m], [k])[0] is not False
    ]
    return _subtract_all(m, meeting, effort) if len(meeting) < len(others) else found


def intersect(m: IndexingMap, others: Sequence[IndexingMap], effort: Effort | None = None) -> list[IndexingMap] | str:
    """The pairs of a map that one of the others has, as maps, or the reason why they cannot be found.

    >>> own = IndexingMap.parse("(d0)[s0] -> (d0, s0), domain: d0 in [0, 3], s0 in [0, 9]")
    >>> print(*intersect(own, [IndexingMap.parse("(d0)[s0] -> (s0, 4), domain: d0 in [2, 7], s0 in [0, 9]")]))
    (d0) -> (d0, 4), domain: d0 in [2, 3]
    """
    if m in others:
        return [m]
    effort = effort or Effort()
    parts: list[IndexingMap] = []
    for other in others if not m.is_known_empty else []:
        if other.is_known_empty:
            continue
        if not effort.spend():
            return f"the intersection takes more than {MAX_WORK} comparisons of maps"
        found = [_intersect_one(m, other), _intersect_one(other, m)]
        both = [part for part in found if not isinstance(part, str)]
        if not both:
            return next(reason for reason in found if isinstance(reason, str))
        part = min(both, key=lambda part: (len(part.ranges), len(part.constraints)))
        if not part.is_known_empty and part.is_empty().value is not True:
            parts.append(part)
    return parts


def find_meeting(maps: Sequence[IndexingMap], others: Sequence[IndexingMap]) -> list[list[IndexingMap]]:
    """For each map the others to the same array whose bounds of dims and results meet its own; no others share a pair.

    >>> low, high = (IndexingMap.parse(f"(d0) -> (d0), domain: d0 in [{n}, {n + 3}]") for n in (0, 4))
    >>> [len(found) for found in find_meeting([low, high], [high])]
    [0, 1]
    """
    bounds = [_bounds(m) for m in maps]
    groups: dict[tuple[object, ...], tuple[list[int], list[npt.NDArray[np.int64]]]] = {}
    for j, k in enumerate(others):
        numbers, tables = groups.setdefault((k.shape_index, len(k.dims), len(k.results)), ([], []))
        numbers.append(j)
        tables.append(_bounds(k))
    stacked = {key: (np.array(numbers), np.stack(tables)) for key, (numbers, tables) in groups.items()}
    found = []
    for m, own in zip(maps, bounds, strict=True):
        meeting: list[int] = []
        for (shape_index, n_dims, n_results), (at, theirs) in stacked.items():
            if shape_index == m.shape_index:
                is_alike = (n_dims, n_results) == (len(m.dims), len(m.results))
                meets = ((theirs[:, 0] <= own[1]) & (own[0] <= theirs[:, 1])).all(axis=1) if is_alike else slice(None)
                meeting += at[meets].tolist()
        found.append([others[j] for j in sorted(meeting)])
    return found


def _bounds(m: IndexingMap) -> npt.NDArray[np.int64]:
    """The lower and the upper bounds of the dims and results, in two rows."""
    dims = [(v.lower, v.upper) for v in m.dims]
    try:
        results = list(bounds_many([m])[0])
    except OverflowError:
        results = [(-(2**63), 2**63 - 1)] * len(m.results)
    return np.array(dims + results, np.int64).reshape(-1, 2).T


def _subtract_all(m: IndexingMap, others: Sequence[IndexingMap], effort: Effort) -> list[IndexingMap] | str:
    parts = [m]
    for other in others:
        remaining: list[IndexingMap] = []
        for part in parts:
            if not effort.spend():
                return _TOO_MUCH_WORK
            try:
                difference = _subtract_one(part, other, effort)
            except (HlomapError, OverflowError, ValueError) as error:
                return str(error)
            if isinstance(difference, str):
                return difference
            remaining += difference
            if len(remaining) > MAX_MEMBERS:
                return f"the difference has more than {MAX_MEMBERS} maps"
        parts = remaining
    return parts


def _subtract_one(m: IndexingMap, other: IndexingMap, effort: Effort) -> list[IndexingMap] | str:
    if m.is_known_empty or other.is_known_empty:
        return [] if m.is_known_empty else [m]
    if len(m.dims) != len(other.dims) or len(m.results) != len(other.results):
        return "the maps have different numbers of dims or results"
    if m == other:
        return []
    common = _intersect(m, other)
    if isinstance(common, str):
        return common
    if common.ranges:
        return "the results of a map do not determine its ranges"
    kept: list[Condition] = []
    parts: list[IndexingMap] = []
    extended = _constrain(m, common, ())
    for e, lower, upper in common.conditions:
        least, greatest = extended.bounds(e)
        if greatest < lower or upper < least:
            return [m]  # the maps are disjoint
        if lower <= least and greatest <= upper:
            continue
        for low, high in ((least, lower - 1), (upper + 1, greatest)):
            if low <= high:
                if not effort.spend(0):
                    return _TOO_MUCH_WORK
                part = _constrain(m, common, [*kept, (e, low, high)]).simplify(drop_unused=True)
                if not part.is_known_empty and part.is_empty().value is not True:
                    parts.append(part)
        kept.append((e, lower, upper))
    return parts


def _intersect_one(m: IndexingMap, other: IndexingMap) -> IndexingMap | str:
    """The pairs of a map that another one has, in the variables of the map."""
    try:
        common = _intersect(m, other)
        if isinstance(common, str):
            return common
        return _constrain(m, common, common.conditions).simplify(drop_unused=True, rescale=True)
    except (HlomapError, OverflowError, ValueError) as error:
        return str(error)


def _constrain(m: IndexingMap, common: _Intersection, conditions: Sequence[Condition]) -> IndexingMap:
    return IndexingMap(
        m.dims,
        m.results,
        ranges=[*m.ranges, *common.ranges],
        runtime=[*m.runtime, *common.runtime],
        constraints=[*m.constraints, *conditions],
    )


def _intersect(m: IndexingMap, other: IndexingMap) -> _Intersection | str:
    dims = [Expr.dim(i) for i in range(len(m.dims))]
    solved: dict[int, Expr] = {}
    conditions: list[Condition] = [(dims[i], v.lower, v.upper) for i, v in enumerate(other.dims)]
    runtime: list[Expr] = []
    added: list[Variable] = []
    undetermined: list[Variable] = []

    def translate(e: Expr) -> Expr:
        """An expression of the other map, whose ranges must all be solved, in the variables of this one."""
        ranges = [solved.get(i, Expr.range(i)) for i in range(len(other.ranges))]
        return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

    def unsolved(e: Expr) -> set[int]:
        return _ranges_in(e) - solved.keys()

    pending = list(zip(other.results, m.results, strict=True))
    while True:
        progress = False
        for at, (theirs, own) in enumerate(pending):
            if unsolved(theirs) and not numbers_of(theirs, "runtime"):
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
    mentioned += [e for v in other.runtime for e in v.element]
    used = unused & {i for e in mentioned for i in _ranges_in(e)}
    for i in sorted(used):
        solved[i] = Expr.range(len(m.ranges) + len(undetermined))
        undetermined.append(Variable(None, other.ranges[i].lower, other.ranges[i].upper))
    for i in unused - used:
        solved[i] = Expr.constant(other.ranges[i].lower)
    for v in other.runtime:
        index = [translate(e) for e in v.element]
        known = [*m.runtime, *added]
        equal = (
            k
            for k, w in enumerate(known)
            if v.source is not None
            and (v.source, v.lower, v.upper, index) == (w.source, w.lower, w.upper, list(w.element))
        )
        number = next(equal, None)
        if number is None and v.source is None:
            return "a runtime variable has no source"
        if number is None:
            number = len(known)
            added.append(Variable(None, v.lower, v.upper, source=v.source, element=index))
        runtime.append(Expr.runtime(number))
    conditions += [(solved[i], v.lower, v.upper) for i, v in enumerate(other.ranges) if i not in unused]
    conditions += [(translate(theirs) - own, 0, 0) for theirs, own in pending]
    conditions += [(translate(c.expr), c.lower, c.upper) for c in other.constraints]
    return _Intersection(conditions, undetermined, added)


def _split_mixed_radix(e: Expr, ranges: set[int], other: IndexingMap) -> tuple[Expr, list[tuple[int, int]]] | None:
    """``rest`` and (range, factor) pairs, largest factor first, with ``e = rest + sum of factor * range``.

    None unless each factor exceeds the largest sum of the terms after it: then the ranges are the digits of a
    mixed-radix number, and the sum determines each range.
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
    return set(numbers_of(e, "range"))
