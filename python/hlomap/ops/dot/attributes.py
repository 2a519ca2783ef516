"""Dimension numbers of a dot."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from ...types import Unknown
from .._attributes import SparseSide, sparse_sides
from .._shapes import require, require_sizes


@dataclass(frozen=True)
class DotOperand:
    """One operand: its sizes, its batch dimensions and its contracted dimensions.

    A ``sparse`` operand holds some of the elements along a contracted dimension; the sizes are those of what it holds.
    """

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    contracted: tuple[int, ...]
    sparse: SparseSide | None = None

    def holds_some(self, dimension: int) -> bool:
        """Whether it is sparse along a dimension."""
        return self.sparse is not None and self.sparse.dimension == dimension

    def dense_size(self, dimension: int) -> int:
        """The size with the elements that a sparse operand leaves out."""
        block = self.sparse.block if self.sparse is not None and self.holds_some(dimension) else 1
        return self.sizes[dimension] * block

    @property
    def free(self) -> tuple[int, ...]:
        """The dimensions that are neither batch nor contracted."""
        return tuple(i for i in range(len(self.sizes)) if i not in self.batch and i not in self.contracted)


def dot_dimensions(instruction: Instruction) -> tuple[DotOperand, DotOperand] | Unknown:
    """Both operands, checked against each other and the output; Unknown for a sparsity that XLA does not define."""
    attributes = instruction.attributes
    sparse = sparse_sides(instruction)
    if isinstance(sparse, Unknown):
        return sparse
    sides = [
        DotOperand(
            tuple(operand.shape.dimensions),
            tuple(attributes.get(f"{side}_batch_dims", ())),
            tuple(attributes.get(f"{side}_contracting_dims", ())),
            held,
        )
        for side, operand, held in zip(("lhs", "rhs"), instruction.operands, sparse, strict=False)
    ]
    left, right = sides
    if any(side.sparse is not None and side.sparse.dimension not in side.contracted for side in sides):
        return Unknown("dot of an operand that is sparse along a dimension that is not contracted")
    for a, b in ((left.batch, right.batch), (left.contracted, right.contracted)):
        require_sizes((left.dense_size(i) for i in a), (right.dense_size(i) for i in b), "paired dimensions")
    sizes = [*(left.sizes[i] for i in left.batch + left.free), *(right.sizes[i] for i in right.free)]
    require_sizes(instruction.shape.dimensions, sizes, "the output")
    for side in sides:
        used = side.batch + side.contracted
        require(len(set(used)) == len(used), "a dimension is repeated among batch and contracting dimensions")
    return left, right
