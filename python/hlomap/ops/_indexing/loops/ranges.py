"""Range variables that maps through loops have: fewer of them, and fewer maps.

Read :func:`drop_ranges`.  A variable that only constraints use says that there is a number between some bounds; where
it has the factors 1 and -1 alone, there is one exactly if every lower bound is at most every upper bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ...._core import Constraint, Expr, IndexingMap, Variable
from ....maps.map_set import MapSet
from ..._rule import Bounds, ExprLike

_MAX_CONSTRAINTS = 12


def uses(expr: Expr, kind: str, number: int) -> bool:
    """Whether a variable occurs in an expression."""
    pending = [expr]
    while pending:
        at = pending.pop()
        if at.kind == kind and at.value == number:
            return True
        pending.extend(at.operands)
    return False


def drop_ranges(m: IndexingMap) -> IndexingMap:
    """The same map without the range variables that can be eliminated exactly."""
    dropped = True
    while dropped and m.ranges and m.constraints and not m.is_known_empty:
        dropped = False
        needed = _ranges_in([*m.results, *(e for v in m.runtime for e in v.index)])
        for number in reversed(range(len(m.ranges))):
            smaller = _without_range(m, number) if number not in needed else None
            if smaller is not None:
                m, dropped = smaller, True
                break
    return m


def _ranges_in(exprs: list[Expr]) -> set[int]:
    """The numbers of the range variables in some expressions."""
    found: set[int] = set()
    pending = list(exprs)
    while pending:
        at = pending.pop()
        if at.kind == "range" and at.value is not None:
            found.add(at.value)
        pending.extend(at.operands)
    return found


def _without_range(m: IndexingMap, number: int) -> IndexingMap | None:
    variable = m.ranges[number]
    lower: list[tuple[ExprLike, int]] = [(0, variable.lower)]  # expression + number <= variable
    upper: list[tuple[ExprLike, int]] = [(0, variable.upper)]
    constraints: list[tuple[ExprLike, int, int]] = []
    for c in m.constraints:
        if not uses(c.expr, "range", number):
            constraints.append((c.expr, c.lower, c.upper))
            continue
        factor = _factor(c.expr, number)
        if factor not in (1, -1):
            return None
        rest = c.expr - Expr.range(number) * factor
        if factor == 1:
            lower.append((-rest, c.lower))
            upper.append((-rest, c.upper))
        else:
            lower.append((rest, -c.upper))
            upper.append((rest, -c.lower))
    if len(lower) > _MAX_CONSTRAINTS:
        return None
    for i, (low, a) in enumerate(lower):
        for j, (high, b) in enumerate(upper):
            if i == j:
                continue
            # low + a <= high + b
            difference = high - low
            constraints.append((difference, a - b, max(_largest(difference, m), a - b)))
    moved = [Expr.range(i - (i > number)) for i in range(len(m.ranges))]

    def renamed(e: ExprLike) -> ExprLike:
        return e.substitute(ranges=moved) if isinstance(e, Expr) else e

    return IndexingMap(
        m.dims,
        [renamed(e) for e in m.results],
        ranges=[v for i, v in enumerate(m.ranges) if i != number],
        runtime=[
            Variable(None, v.lower, v.upper, source=v.source, index=[renamed(e) for e in v.index]) for v in m.runtime
        ],
        constraints=[(renamed(e), a, b) for e, a, b in constraints],
    ).simplify(drop_unused=True)


def _factor(expr: Expr, number: int) -> int | None:
    """The factor of a range variable in a sum; None where it occurs in another way."""
    found = 0
    for term in expr.operands if expr.kind == "sum" else (expr,):
        if not uses(term, "range", number):
            continue
        if term.kind == "range":
            found += 1
        elif term.kind == "product" and len(term.operands) == 2:
            a, b = term.operands
            if b.kind == "constant":
                a, b = b, a
            if a.kind != "constant" or b.kind != "range" or a.value is None:
                return None
            found += a.value
        else:
            return None
    return found


def _largest(difference: ExprLike, m: IndexingMap) -> int:
    """An upper bound of an expression over the box of a map's variables."""
    box = IndexingMap(m.dims, [difference], ranges=m.ranges, runtime=m.runtime)
    return box.bounds(0)[1]


def count_up(m: IndexingMap) -> IndexingMap:
    """The same map with range variables that are results where a result was a constant minus the variable."""
    turned = {_turned(e): e for e in m.results}
    ranges: list[Bounds] = []
    at: list[Expr] = []
    for i, v in enumerate(m.ranges):
        e = turned.get(i)
        constant = (e + Expr.range(i)).value if e is not None else None
        ranges.append((v.lower, v.upper) if constant is None else (constant - v.upper, constant - v.lower))
        at.append(Expr.range(i) if constant is None else -Expr.range(i) + constant)
    if all(e == Expr.range(i) for i, e in enumerate(at)):
        return m
    return IndexingMap(
        m.dims,
        [e.substitute(ranges=at) for e in m.results],
        ranges=ranges,
        runtime=[
            Variable(None, v.lower, v.upper, source=v.source, index=[e.substitute(ranges=at) for e in v.index])
            for v in m.runtime
        ],
        constraints=[(c.expr.substitute(ranges=at), c.lower, c.upper) for c in m.constraints],
    ).simplify()


def _turned(expr: Expr) -> int | None:
    """The number of the range variable where an expression is a constant minus that variable."""
    for number in _ranges_in([expr]):
        if (expr + Expr.range(number)).kind == "constant":
            return number
    return None


_MAX_JOINED = 8


def join_ranges(maps: list[IndexingMap]) -> list[IndexingMap]:
    """The same union, where a map with a constrained range and one at the end of that range become one.

    What an iteration reads itself and what it reads through the state of earlier ones are such maps.
    """
    if not 1 < len(maps) <= _MAX_JOINED:
        return maps
    for first in maps:
        for second in maps:
            whole = _extended(first, second) if first is not second else None
            if whole is not None:
                return join_ranges([whole, *(m for m in maps if m is not first and m is not second)])
    return maps


def _extended(first: IndexingMap, second: IndexingMap) -> IndexingMap | None:
    """The first map with a range extended so that it contains the second one, if it is then the union of both."""
    if not first.constraints or first.runtime or second.runtime or len(second.ranges) >= len(first.ranges):
        return None
    if len(first.dims) != len(second.dims) or len(first.results) != len(second.results):
        return None
    named = _named_alike(first, second)
    different = [i for i, (a, b) in enumerate(zip(first.results, named, strict=True)) if a != b]
    if len(different) != 1 or (variable := first.results[different[0]]).kind != "range":
        return None
    end = named[different[0]]
    at_end = [end if i == variable.value else Expr.range(i) for i in range(len(first.ranges))]
    for c in first.constraints:
        value = c.expr.substitute(ranges=at_end)
        if value.kind != "constant" or value.value not in (c.lower - 1, c.upper + 1):
            continue
        extended = (c.expr, min(c.lower, value.value), max(c.upper, value.value))
        whole = _with_hulls(first, second, variable.value or 0, different[0], extended)
        if _is_union(whole, c, end, variable.value or 0, first, second) or same_elements([whole], [first, second]):
            return whole
    return None


def _is_union(
    whole: IndexingMap, split: Constraint, end: Expr, number: int, first: IndexingMap, second: IndexingMap
) -> bool:
    """Whether the whole, cut where a constraint has the bounds of the first map, plainly falls into the two maps.

    Beyond these bounds range variable ``number`` is ``end``.
    """
    if not _factor(split.expr, number):
        return False
    others = [(c.expr, c.lower, c.upper) for c in whole.constraints if c.expr != split.expr]
    within = IndexingMap(
        whole.dims, whole.results, ranges=whole.ranges, constraints=[*others, (split.expr, split.lower, split.upper)]
    )
    if not _reads_same(within, first):
        return False
    at_end = [end if i == number else Expr.range(i) for i in range(len(whole.ranges))]
    variable = whole.ranges[number]
    beyond = IndexingMap(
        whole.dims,
        [e.substitute(ranges=at_end) for e in whole.results],
        ranges=whole.ranges,
        constraints=[
            *((e.substitute(ranges=at_end), lower, upper) for e, lower, upper in others),
            (end, variable.lower, variable.upper),
        ],
    )
    return _reads_same(beyond, second)


def _reads_same(a: IndexingMap, b: IndexingMap) -> bool:
    """Whether two maps have one simplest form."""
    return a.simplify(drop_unused=True) == b.simplify(drop_unused=True)


def same_elements(a: Sequence[IndexingMap], b: Sequence[IndexingMap]) -> bool:
    """Whether two unions are equal."""
    left, right = MapSet(a), MapSet(b)
    return left.covers(right).equal is True and right.covers(left).equal is True


def _named_alike(first: IndexingMap, second: IndexingMap) -> list[Expr]:
    """The results of the second map with its range variables numbered as those of the first in the same results."""
    numbers = [Expr.range(i) for i in range(len(second.ranges))]
    for a, b in zip(first.results, second.results, strict=True):
        if a.kind == b.kind == "range" and b.value is not None:
            numbers[b.value] = a
    return [e.substitute(ranges=numbers) for e in second.results]


def tighten(m: IndexingMap) -> IndexingMap:
    """The same map, with bounds of constraints that the bounds of the variables allow."""
    if not m.constraints or m.runtime:
        return m
    constraints: list[tuple[Expr, int, int]] = []
    for c in m.constraints:
        low, high = IndexingMap(m.dims, [c.expr], ranges=m.ranges).bounds(0)
        tight = (max(c.lower, low), min(c.upper, high))
        constraints.append((c.expr, *tight) if tight[0] <= tight[1] else (c.expr, c.lower, c.upper))
    return IndexingMap(m.dims, m.results, ranges=m.ranges, constraints=constraints)


def _with_hulls(
    first: IndexingMap, second: IndexingMap, number: int, result: int, extended: tuple[Expr, int, int]
) -> IndexingMap:
    """The first map with bounds that contain both maps, and one constraint replaced."""
    dims = [(min(a.lower, b.lower), max(a.upper, b.upper)) for a, b in zip(first.dims, second.dims, strict=True)]
    ranges = [(v.lower, v.upper) for v in first.ranges]
    low, high = second.bounds(result)
    ranges[number] = (min(low, ranges[number][0]), max(high, ranges[number][1]))
    box = IndexingMap(dims, [extended[0]], ranges=ranges).bounds(0)
    constraints = [(c.expr, c.lower, c.upper) for c in first.constraints if c.expr != extended[0]]
    tight = (extended[0], max(extended[1], box[0]), min(extended[2], box[1]))
    return IndexingMap(dims, first.results, ranges=ranges, constraints=[*constraints, tight])


@dataclass(frozen=True, slots=True)
class Region:
    """The parts of a map that tell at a glance whether it contains another one."""

    results: tuple[Expr, ...]
    runtime: tuple[object, ...]
    bounds: tuple[Bounds, ...]
    constraints: dict[Expr, Bounds]

    @property
    def form(self) -> Hashable:
        """What maps have in common of which one may contain the other."""
        return self.results, self.runtime, len(self.bounds)

    def contains(self, other: Region) -> bool:
        """Whether every condition of this map is one of the other, too, which has the same form."""
        if any(a[0] > b[0] or a[1] < b[1] for a, b in zip(self.bounds, other.bounds, strict=True)):
            return False
        for expr, (lower, upper) in self.constraints.items():
            found = other.constraints.get(expr)
            if found is None or found[0] < lower or found[1] > upper:
                return False
        return True


@lru_cache(maxsize=1 << 13)
def region_of(m: IndexingMap) -> Region:
    """The parts of a map."""
    bounds = tuple((v.lower, v.upper) for v in (*m.dims, *m.ranges))
    constraints = {c.expr: (c.lower, c.upper) for c in m.constraints}
    runtime = tuple((v.lower, v.upper, v.source, v.index) for v in m.runtime)
    return Region(m.results, runtime, bounds, constraints)
