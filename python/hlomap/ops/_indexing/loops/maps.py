"""Maps through all iterations of a counted loop, without unrolling it.

The search is compiled (``rust/flow/src/loops``): it asks for the maps of one iteration leaf by leaf, finds which leaves
depend on each other, and composes closed forms of what many iterations do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ...._core import Expr, IndexingMap, Instruction, _LoopMaps
from ....base.answers import Unknown
from ....base.types import ShapeIndex
from ....maps.variables import numbers_of
from ..._rule import Footprint, OperandIndexing
from .counter import CountedLoop
from .scalar_values import Scalar, is_invariant
from .window import Window

FindWindow: TypeAlias = Callable[[ShapeIndex], Window | None]

Step: TypeAlias = Callable[[ShapeIndex], OperandIndexing]

Condition: TypeAlias = tuple[Expr, int, int]
"""An expression over the iteration with its bounds."""

Offset: TypeAlias = list[tuple[Expr, Condition | None]] | int | str | None
"""Expressions over the iteration, each where its condition holds; the number of a source that does not change; why it
depends on data; None where it is the same in every iteration."""


class Edge(NamedTuple):
    """One iteration from a leaf to another."""

    target: ShapeIndex
    at_iteration: bool
    """Whether each iteration reaches other elements."""
    reason: str | None
    """Why the map may contain too much."""


class Group(NamedTuple):
    """Leaves that depend on each other over iterations."""

    kind: str
    reason: str | None
    """Why their maps are over-approximate."""
    window: Window | None
    """The elements of a stacked leaf that every iteration writes."""


class LoopMaps:
    """The maps through all iterations of one loop in one direction.

    ``step`` gives the maps of one iteration from a leaf, ``written`` the window of a leaf that the body updates.
    ``branch`` is a conditional of which the iteration alone decides the branch: its maps mention all of them.
    """

    def __init__(
        self, loop: CountedLoop, step: Step, written: FindWindow, branch: Instruction | None, *, backward: bool
    ) -> None:
        assert loop.trip_count is not None, "the loop is counted"
        self._loop, self._maps_from, self._written, self._branch = loop, step, written, branch
        self._maps = _LoopMaps(loop.start.shape, loop.trip_count, backward)

    def maps(self, start: ShapeIndex, *, anywhere: bool = False) -> Footprint | Unknown:
        """The maps from a leaf to all leaves, each with its leaf.

        Backward they begin at the leaf after all iterations, or with ``anywhere`` after any number of them.
        """
        found = self._maps.maps(self, start, anywhere)
        if isinstance(found, Unknown):
            return found
        maps, reason, crosses_devices = found
        return Footprint(maps, reason is None, reason, crosses_devices)

    def group(self, leaf: ShapeIndex) -> Group | Unknown:
        """The group of a leaf."""
        found = self._maps.group(self, leaf)
        if isinstance(found, Unknown):
            return found
        kind, reason, window = found
        if window is None:
            return Group(kind, reason, None)
        dim, start, step, size, fixed = window
        return Group(kind, reason, Window(dim, start, step, size, tuple(fixed)))

    def edges(self, leaf: ShapeIndex) -> list[Edge]:
        """The edges of a leaf whose group is known."""
        return [Edge(*edge) for edge in self._maps.edges(leaf)]

    def moves(self, leaf: ShapeIndex) -> tuple[int | None, ...]:
        """By how much one iteration moves each dimension of a leaf; None where that is not one number."""
        return tuple(self._maps.moves(leaf))

    # Called by the search: one iteration.

    def window(self, leaf: ShapeIndex) -> tuple[int, int, int, int, tuple[tuple[int, int, int], ...]] | None:
        """The window of a leaf that the body updates."""
        w = self._written(leaf)
        return None if w is None else (w.dim, w.start, w.step, w.size, w.fixed)

    def step(self, leaf: ShapeIndex) -> tuple[tuple[tuple[ShapeIndex, IndexingMap], ...], str | None, bool] | Unknown:
        """The maps from a leaf, why they may contain too much, and whether they reach elements on other devices."""
        part = self._maps_from(leaf)
        if isinstance(part, Unknown):
            return part
        reason = None if part.exact else part.reason or "the body is over-approximate"
        if self._branch is not None and not self._loop.body._forwards(leaf):
            reason = reason or f"the iteration decides which branch of {self._branch.name} runs"
        return part.maps, reason, part.crosses_devices

    def offset(self, source: int | None, element: int | None, lower: int, upper: int) -> Offset:
        """An element of the value of a source as an offset that is clamped; without an element, any of them."""
        supplier = self._loop.body._supplier(source)
        if supplier is None:
            return "the offset of a dynamic access depends on data"
        value = None if element is None else self._value(supplier, element)
        if value is None:
            is_same = element is not None and is_invariant(self._loop.body, *supplier, element)
            return None if is_same else _on_data(supplier[0])
        if value.expr.kind == "dim" and value.expr.value:
            return -1 - self._loop.symbols[value.expr.value - 1]
        depends_on_symbols = any(numbers_of(value.expr, "dim"))  # d0 is the iteration
        return _on_data(supplier[0]) if depends_on_symbols else _clamped(value, lower, upper)

    def _value(self, supplier: tuple[Instruction, tuple[Instruction, ...]], element: int) -> Scalar | None:
        """An element of a vector as an expression over the iteration and symbols."""
        at, callers = supplier
        if self._loop.values is None or not at.shape.is_array:
            return None
        value = self._loop.values.of(at, (), callers, element)
        return value if isinstance(value, Scalar) else None


def _on_data(supplier: Instruction) -> str:
    return f"the offset {supplier.name} depends on data"


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
