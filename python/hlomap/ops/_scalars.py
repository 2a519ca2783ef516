"""Integers as expressions over symbols: what a rule may know of a value without running the program.

The arithmetic is compiled (``rust/flow/src/loops/scalars``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from .._core import Expr, Instruction, _arithmetic

Interval: TypeAlias = tuple[int, int]


class Scalar(NamedTuple):
    """An integer: an expression over symbols, which are dims by number, and an interval that contains its values."""

    expr: Expr
    lower: int
    upper: int

    @staticmethod
    def constant(value: int) -> Scalar:
        """A known number."""
        return Scalar(Expr.constant(value), value, value)

    @property
    def known(self) -> int | None:
        """The number, where it is known."""
        return self.lower if self.lower == self.upper else None


class Comparison(NamedTuple):
    """A predicate that holds for some values of the symbols: ``left direction right``."""

    direction: str
    left: Scalar
    right: Scalar


HOLDS: Mapping[str, Callable[[int, int], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
}
"""Whether a comparison holds, by its direction."""


@cache
def dtype_interval(dtype: str) -> Interval | None:
    """The smallest and largest number of an integer type, or of pred; None for other types."""
    if dtype == "pred":
        return 0, 1
    kind, bits = dtype[:1], dtype[1:]
    if kind not in ("s", "u") or bits not in ("8", "16", "32", "64"):
        return None
    n = 2 ** int(bits)
    return (0, n - 1) if kind == "u" else (-n // 2, n // 2 - 1)


def arithmetic(at: Instruction, operands: Sequence[Scalar]) -> Scalar | Comparison | None:
    """The result of an elementwise operation on integers, with the values that these operands have."""
    found = _arithmetic(at, operands)
    if found is None:
        return None
    if isinstance(found[0], str):
        direction, left, right = found
        return Comparison(direction, Scalar(*left), Scalar(*right))
    return Scalar(*found)
