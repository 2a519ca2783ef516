"""The clock of a loop, and the pieces of a relation over clocks.

A clock counts the iterations that are done: backward a path begins at clock ``T`` and ends at 0, forward the reverse.
"""

from __future__ import annotations

from ...._core import Expr, IndexingMap, Shape
from ....types import ShapeIndex
from ..._rule import Bounds
from ..._shapes import shape_at
from ..maps import dim_exprs, full_bounds
from .parts import Piece

__all__ = ["Timeline"]


class Timeline:
    """The number of iterations of a loop, the direction in which its maps go, and the sizes of its leaves."""

    def __init__(self, shape: Shape, n: int, *, backward: bool) -> None:
        self.n = n
        self.backward = backward
        self._shape = shape
        self._known_sizes: dict[ShapeIndex, tuple[int, ...]] = {}

    def sizes(self, leaf: ShapeIndex) -> tuple[int, ...]:
        """The sizes of a leaf."""
        if leaf not in self._known_sizes:
            self._known_sizes[leaf] = shape_at(self._shape, leaf).dimensions
        return self._known_sizes[leaf]

    def dims(self, leaf: ShapeIndex) -> tuple[list[Bounds], list[Expr], Expr, Expr, Expr]:
        """The dims (element, p, q) of a piece: bounds, the element, p, q, and the number of iterations between."""
        n = len(self.sizes(leaf))
        p, q = Expr.dim(n), Expr.dim(n + 1)
        dims = [*full_bounds(self.sizes(leaf)), (0, self.n), (0, self.n)]
        return dims, dim_exprs(n), p, q, (p - q if self.backward else q - p)

    def whole(self, leaf: ShapeIndex) -> Piece:
        """Every element stays where it is, for any number of iterations."""
        dims, own, _, q, passed = self.dims(leaf)
        return Piece(IndexingMap(dims, [*own, q], constraints=[(passed, 0, self.n)]))

    def none(self, leaf: ShapeIndex) -> Piece:
        """No iteration passes."""
        dims, own, _, q, passed = self.dims(leaf)
        return Piece(IndexingMap(dims, [*own, q], constraints=[(passed, 0, 0)]))
