"""Maps through all iterations of a counted loop, without unrolling it.

The search is compiled (``rust/flow/src/loops``): it asks for the maps of one iteration leaf by leaf, finds which leaves
depend on each other, and composes closed forms of what many iterations do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from ...._core import Computation, Instruction, _LoopMaps
from ....answers import Unknown
from ....types import ShapeIndex
from ..._rule import Footprint
from .counter import CountedLoop
from .edges import Edges, Step
from .window import Window

FindWindow: TypeAlias = Callable[[ShapeIndex], Window | None]


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
        self.body: Computation = loop.body
        self._body = _Body(Edges(loop, step, branch), written)
        self._maps = _LoopMaps(loop.shape, loop.trip_count, backward)

    def maps(self, start: ShapeIndex, *, anywhere: bool = False) -> Footprint | Unknown:
        """The maps from a leaf to all leaves, each with its leaf.

        Backward they begin at the leaf after all iterations, or with ``anywhere`` after any number of them.
        """
        found = self._maps.maps(self._body, start, anywhere)
        if isinstance(found, Unknown):
            return found
        maps, reason, crosses_devices = found
        return Footprint(maps, reason is None, reason, crosses_devices)

    def group(self, leaf: ShapeIndex) -> Group | Unknown:
        """The group of a leaf."""
        found = self._maps.group(self._body, leaf)
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


class _Body:
    """A loop's body as the search sees it."""

    def __init__(self, edges: Edges, written: FindWindow) -> None:
        self.step = edges.find
        self.offset = edges.offset
        self._written = written

    def window(self, leaf: ShapeIndex) -> tuple[int, int, int, int, tuple[tuple[int, int, int], ...]] | None:
        w = self._written(leaf)
        return None if w is None else (w.dim, w.start, w.step, w.size, w.fixed)
