"""Dimension numbers of a dot."""

from __future__ import annotations

from typing import NamedTuple

from ..._core import Instruction
from ...answers import Unknown
from .._attributes import SparseSide, sparse_sides


class DotOperand(NamedTuple):
    """One operand: its sizes, its batch, contracted and other dimensions.

    A ``sparse`` operand holds some of the elements along a contracted dimension; the sizes are those of what it holds.
    """

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    contracted: tuple[int, ...]
    free: tuple[int, ...]
    sparse: SparseSide | None

    def holds_some(self, dimension: int) -> bool:
        """Whether it is sparse along a dimension."""
        return self.sparse is not None and self.sparse.dimension == dimension


def dot_dimensions(instruction: Instruction) -> tuple[DotOperand, DotOperand] | Unknown:
    """Both operands; Unknown for a sparsity that XLA does not define."""
    attributes = instruction.attributes
    sparse = sparse_sides(instruction)
    if isinstance(sparse, Unknown):
        return sparse
    sides = []
    for side, operand, held in zip(("lhs", "rhs"), instruction.operands, sparse, strict=False):
        sizes = operand.shape.dimensions
        batch = attributes.get(f"{side}_batch_dims", ())
        contracted = attributes.get(f"{side}_contracting_dims", ())
        free = tuple([i for i in range(len(sizes)) if i not in batch and i not in contracted])
        sides.append(DotOperand(sizes, batch, contracted, free, held))
        if held is not None and held.dimension not in contracted:
            return Unknown("dot of an operand that is sparse along a dimension that is not contracted")
    left, right = sides
    places = [side.contracted.index(side.sparse.dimension) for side in sides if side.sparse is not None]
    if len(set(places)) > 1:
        return Unknown("dot of operands that are sparse along different dimensions")
    return left, right
