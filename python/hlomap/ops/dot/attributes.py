"""Dimension numbers of a dot."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from .._shapes import require, require_sizes


@dataclass(frozen=True)
class DotOperand:
    """One operand: its sizes, its batch dimensions and its contracted dimensions."""

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    contracted: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        """The dimensions that are neither batch nor contracted."""
        return tuple(i for i in range(len(self.sizes)) if i not in self.batch and i not in self.contracted)


def dot_dimensions(instruction: Instruction) -> tuple[DotOperand, DotOperand]:
    """Both operands, checked against each other and the output."""
    attributes = instruction.attributes
    sides = [
        DotOperand(
            tuple(operand.shape.dimensions),
            tuple(attributes.get(f"{side}_batch_dims", ())),
            tuple(attributes.get(f"{side}_contracting_dims", ())),
        )
        for side, operand in zip(("lhs", "rhs"), instruction.operands, strict=False)
    ]
    left, right = sides
    for a, b in ((left.batch, right.batch), (left.contracted, right.contracted)):
        require_sizes((left.sizes[i] for i in a), (right.sizes[i] for i in b), "paired dimensions")
    sizes = [*(left.sizes[i] for i in left.batch + left.free), *(right.sizes[i] for i in right.free)]
    require_sizes(instruction.shape.dimensions, sizes, "the output")
    for side in sides:
        used = side.batch + side.contracted
        require(len(set(used)) == len(used), "a dimension is repeated among batch and contracting dimensions")
    return left, right
