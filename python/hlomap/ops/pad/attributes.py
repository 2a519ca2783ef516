"""The padding of each dimension."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from .._shapes import require, require_sizes


@dataclass(frozen=True)
class PaddedDim:
    """One dimension: the operand elements in ``kept`` lie ``step`` apart in the output, from ``first`` to ``last``."""

    low: int
    step: int
    size: int
    kept: tuple[int, int]

    @property
    def first(self) -> int:
        return self.low + self.step * self.kept[0]

    @property
    def last(self) -> int:
        return self.low + self.step * self.kept[1]


def padded_dims(instruction: Instruction) -> list[PaddedDim]:
    """The dimensions, checked against operand and output."""
    dims = []
    sizes, lengths = instruction.shape.dimensions, instruction.operands[0].shape.dimensions
    for (low, high, interior), size, length in zip(instruction.attributes["padding"], sizes, lengths, strict=True):
        step = interior + 1
        require(interior >= 0, f"interior padding {interior} is negative")
        require_sizes([size], [max(0, low + high + length + max(0, length - 1) * interior)], "the output")
        dims.append(PaddedDim(low, step, size, (max(0, -(low // step)), min(length - 1, (size - 1 - low) // step))))
    return dims
