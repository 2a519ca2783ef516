"""The parts of a loop's maps: edges of one iteration, groups of leaves, pieces of their relations."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...._core import IndexingMap
from ....types import ShapeIndex
from .ranges import uses

__all__ = ["Edge", "Group", "Piece", "Reached", "Window"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One iteration from a leaf to another: a map whose last dim is the iteration."""

    target: ShapeIndex
    map: IndexingMap
    reason: str | None = None
    """Why the map may contain too much."""

    @property
    def at_iteration(self) -> bool:
        """Whether each iteration reaches other elements."""
        n = len(self.map.dims) - 1
        return any(uses(e, "dim", n) for e in self.map.results)


@dataclass(frozen=True, slots=True)
class Reached:
    """A map from the leaf that was asked for to a leaf."""

    map: IndexingMap
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What a dynamic-update-slice writes in iteration ``t``: a box, in one dimension from ``start + step * t``."""

    dim: int
    start: int
    step: int
    size: int
    fixed: tuple[tuple[int, int, int], ...]
    """The other dimensions that the box does not fill: (dimension, first, last)."""

    @property
    def disjoint(self) -> bool:
        """Whether iterations write different elements."""
        return abs(self.step) >= self.size


@dataclass(frozen=True, slots=True)
class Piece:
    """A relation of elements of a leaf at clock ``p`` to elements at clock ``q``: a map from (element, p, q)."""

    map: IndexingMap
    reason: str | None = None


@dataclass
class Group:
    """Leaves that depend on each other over iterations."""

    leaves: list[ShapeIndex]
    edges: dict[ShapeIndex, list[Edge]] = field(default_factory=dict)
    """To all leaves, inside the group and outside."""
    kind: str = "general"
    reason: str | None = None
    common: frozenset[int] | None = None
    """Of a large group: the dimensions that every edge in it keeps; a path in it may reach the whole of the others."""
    window: Window | None = None
    pieces: dict[tuple[ShapeIndex, ShapeIndex], list[Piece]] = field(default_factory=dict)
