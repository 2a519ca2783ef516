"""The edges of one iteration: the maps of a loop's body, and what their offsets are in terms of the iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...._core import Expr, IndexingMap, Instruction
from ....answers import Unknown
from ....maps.variables import numbers_of
from ....types import ShapeIndex
from ..._rule import OperandIndexing
from .counter import CountedLoop
from .scalar_values import Scalar, is_invariant

_CALLS = 2**62  # from here on, numbers of sources are those of values in nested calls

Step: TypeAlias = Callable[[ShapeIndex], OperandIndexing]

Condition: TypeAlias = tuple[Expr, int, int]
"""An expression over the iteration with its bounds."""

Offset: TypeAlias = list[tuple[Expr, Condition | None]] | int | str | None
"""Expressions over the iteration, each where its condition holds; the number of a source that does not change; why it
depends on data; None where it is the same in every iteration."""


class Edges:
    """The maps from each leaf of a loop, and their offsets; ``step`` gives the maps of one iteration from a leaf.

    ``branch`` is a conditional of which the iteration alone decides the branch: its maps mention all of them.
    """

    def __init__(self, loop: CountedLoop, step: Step, branch: Instruction | None) -> None:
        assert loop.trip_count is not None, "the loop is counted"
        self._loop = loop
        self._step = step
        self._branch = branch

    def find(self, leaf: ShapeIndex) -> tuple[tuple[tuple[ShapeIndex, IndexingMap], ...], str | None, bool] | Unknown:
        """The maps from a leaf, why they may contain too much, and whether they reach elements on other devices."""
        part = self._step(leaf)
        if isinstance(part, Unknown):
            return part
        reason = None if part.exact else part.reason or "the body is over-approximate"
        if self._branch is not None and not self._loop.body._forwards(leaf):
            reason = reason or f"the iteration decides which branch of {self._branch.name} runs"
        return part.maps, reason, part.crosses_devices

    def offset(self, source: int | None, element: int | None, lower: int, upper: int) -> Offset:
        """An element of the value of a source as an offset that is clamped; without an element, any of them."""
        supplier = self._supplier(source)
        if supplier is None:
            return "the offset of a dynamic access depends on data"
        unknown = f"the offset {supplier[0].name} depends on data"
        if element is None:
            return unknown
        value = self._value(supplier, element)
        if value is None:
            return None if is_invariant(self._loop.body, *supplier, element) else unknown
        if value.expr.kind == "dim" and value.expr.value:
            return self._loop.symbols[value.expr.value - 1]
        return unknown if _uses_symbols(value.expr) else _clamped(value, lower, upper)

    def _supplier(self, source: int | None) -> tuple[Instruction, tuple[Instruction, ...]] | None:
        """The instruction with the value of a source, and the calls that lead to it."""
        module = self._loop.instruction.module
        n = module.n_instructions
        if source is None or not 0 <= source < _CALLS:
            return None
        if source < n:
            return module.instruction(source), ()
        caller = source // n - 1
        return (module.instruction(source % n), (module.instruction(caller),)) if caller < n else None

    def _value(self, supplier: tuple[Instruction, tuple[Instruction, ...]], element: int) -> Scalar | None:
        """An element of a vector as an expression over the iteration and symbols."""
        at, callers = supplier
        if self._loop.values is None or not at.shape.is_array:
            return None
        value = self._loop.values.of(at, (), callers, element=element)
        return value if isinstance(value, Scalar) else None


def _clamped(value: Scalar, lower: int, upper: int) -> list[tuple[Expr, Condition | None]]:
    """An offset in pieces where it may be clamped."""
    expr = value.expr
    if lower <= value.lower and value.upper <= upper:
        return [(expr, None)]
    pieces: list[tuple[Expr, Condition | None]] = [(expr, (expr, lower, upper))]
    if value.lower < lower:
        pieces.append((Expr.constant(lower), (expr, value.lower, lower - 1)))
    if value.upper > upper:
        pieces.append((Expr.constant(upper), (expr, upper + 1, value.upper)))
    return pieces


def _uses_symbols(expr: Expr) -> bool:
    """Whether an expression depends on anything but the iteration."""
    return any(numbers_of(expr, "dim"))
