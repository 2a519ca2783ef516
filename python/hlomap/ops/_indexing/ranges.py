"""Range variables that only constraints use: elimination where that leaves the map the same.

Read :func:`drop_ranges`.  Such a variable says that there is a number between some bounds; where it has the factors 1
and -1 alone, there is one exactly if every lower bound is at most every upper bound.
"""

from __future__ import annotations

from ..._core import Expr, IndexingMap, Variable
from .._rule import ExprLike

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
    number = len(m.ranges) - 1
    while number >= 0:
        smaller = _without_range(m, number) if not m.is_known_empty else None
        if smaller is not None:
            m = smaller
            number = min(number, len(m.ranges))
        number -= 1
    return m


def _without_range(m: IndexingMap, number: int) -> IndexingMap | None:
    if not m.constraints or any(uses(e, "range", number) for e in m.results):
        return None
    if any(uses(e, "range", number) for v in m.runtime for e in v.index):
        return None
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
