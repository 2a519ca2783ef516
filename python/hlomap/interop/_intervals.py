"""Intervals of integers, bounded or not, and the intervals of variables that conditions imply.

Law of :func:`propagate`: no point that meets the conditions is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

from .._core import Expr

__all__ = ["ALL", "Interval", "propagate"]


class Interval(NamedTuple):
    """The integers from ``lower`` to ``upper``; ``None`` where there is no bound."""

    lower: int | None
    upper: int | None

    @property
    def is_finite(self) -> bool:
        """Whether it has both bounds."""
        return self.lower is not None and self.upper is not None

    @property
    def is_empty(self) -> bool:
        """Whether no value lies within."""
        return self.lower is not None and self.upper is not None and self.lower > self.upper

    def contains(self, value: int) -> bool:
        """Whether a value lies within."""
        return (self.lower is None or self.lower <= value) and (self.upper is None or value <= self.upper)

    def covers(self, other: Interval) -> bool:
        """Whether all values of the other interval lie within."""
        return (self.lower is None or (other.lower is not None and self.lower <= other.lower)) and (
            self.upper is None or (other.upper is not None and other.upper <= self.upper)
        )

    def intersect(self, other: Interval) -> Interval:
        """The values that lie in both."""
        lower = max((x for x in (self.lower, other.lower) if x is not None), default=None)
        upper = min((x for x in (self.upper, other.upper) if x is not None), default=None)
        return Interval(lower, upper)

    def plus(self, other: Interval) -> Interval:
        """All sums."""
        lower = None if self.lower is None or other.lower is None else self.lower + other.lower
        upper = None if self.upper is None or other.upper is None else self.upper + other.upper
        return Interval(lower, upper)

    def times(self, factor: int) -> Interval:
        """The multiples, for a factor other than 0."""
        lower, upper = (self.lower, self.upper) if factor > 0 else (self.upper, self.lower)
        return Interval(None if lower is None else lower * factor, None if upper is None else upper * factor)

    def quotients(self, factor: int) -> Interval:
        """The integers whose multiples by a factor other than 0 lie within."""
        lower, upper = (self.lower, self.upper) if factor > 0 else (self.upper, self.lower)
        return Interval(None if lower is None else -(-lower // factor), None if upper is None else upper // factor)


ALL = Interval(None, None)


def propagate(box: Mapping[Expr, Interval], conditions: Mapping[Expr, Interval]) -> dict[Expr, Interval]:
    """Intervals of variables that follow from intervals of expressions, each from one at a time."""
    found = dict(box)
    for _ in range(_ROUNDS):
        before = dict(found)
        for e, interval in conditions.items():
            _narrow(e, interval, found)
        if found == before or any(interval.is_empty for interval in found.values()):
            break
    return found


_ROUNDS = 10

_MAX_NODES = 10_000  # of an expression, that one narrowing visits


def _values(root: Expr, box: Mapping[Expr, Interval]) -> dict[Expr, Interval]:
    """The intervals of all nodes of an expression."""
    known: dict[Expr, Interval] = dict(box)
    stack = [root]
    while stack:
        e = stack[-1]
        if missing := [operand for operand in e.operands if operand not in known]:
            stack += missing
            continue
        stack.pop()
        if e not in known:
            known[e] = _step(e, [known[operand] for operand in e.operands])
    return known


def _step(e: Expr, operands: list[Interval]) -> Interval:
    if e.kind == "constant":
        return Interval(e.value, e.value)
    if e.kind == "sum":
        return reduce(Interval.plus, operands)
    a, b = operands
    if e.kind == "min":
        lower = None if a.lower is None or b.lower is None else min(a.lower, b.lower)
        return Interval(lower, a.intersect(b).upper)
    if e.kind == "max":
        upper = None if a.upper is None or b.upper is None else max(a.upper, b.upper)
        return Interval(a.intersect(b).lower, upper)
    n = _constant(e.operands[1])
    if n is None:
        return ALL
    if e.kind == "product":
        return a.times(n)
    quotient = Interval(None if a.lower is None else a.lower // n, None if a.upper is None else a.upper // n)
    if e.kind == "floordiv":
        return quotient
    if a.lower is not None and a.upper is not None and quotient.lower == quotient.upper:
        return Interval(a.lower % n, a.upper % n)
    return Interval(0, n - 1)


def _constant(e: Expr) -> int | None:
    return e.value if e.kind == "constant" else None


def _narrow(root: Expr, interval: Interval, box: dict[Expr, Interval]) -> None:
    """Narrows the intervals of the variables by the interval of an expression."""
    known = _values(root, box)
    stack = [(root, interval)]
    for _ in range(_MAX_NODES):
        if not stack:
            break
        e, interval = stack.pop()
        if e in box:
            box[e] = box[e].intersect(interval)
        elif interval != ALL:
            stack += _implied(e, interval, known)


def _implied(e: Expr, interval: Interval, known: Mapping[Expr, Interval]) -> list[tuple[Expr, Interval]]:
    """Intervals of operands that follow from the interval of an operation."""
    if e.kind == "sum":
        values = [known[operand] for operand in e.operands]
        zero = Interval(0, 0)
        before = list(accumulate(values[:-1], Interval.plus, initial=zero))
        after = list(accumulate(values[:0:-1], Interval.plus, initial=zero))[::-1]
        others = [a.plus(b).times(-1) for a, b in zip(before, after, strict=True)]
        return [(operand, interval.plus(other)) for operand, other in zip(e.operands, others, strict=True)]
    if e.kind == "min":
        return [(operand, Interval(interval.lower, None)) for operand in e.operands]
    if e.kind == "max":
        return [(operand, Interval(None, interval.upper)) for operand in e.operands]
    if e.kind == "mod" or e.kind == "constant" or (n := _constant(e.operands[1])) is None:
        return []
    if e.kind == "product":
        return [(e.operands[0], interval.quotients(n))]
    return [(e.operands[0], interval.times(n).plus(Interval(0, n - 1)))]
