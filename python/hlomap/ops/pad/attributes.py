"""The dimensions of a pad."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from .._shapes import agree, must


@dataclass(frozen=True)
class Dim:
    """One dimension: the operand's elements in ``kept`` lie in the output, ``step`` apart, the first at ``first``."""

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


def dims_of(instruction: Instruction) -> list[Dim]:
    dims = []
    sizes, lengths = instruction.shape.dimensions, instruction.operands[0].shape.dimensions
    for (low, high, interior), size, length in zip(instruction.attributes["padding"], sizes, lengths, strict=True):
        step = interior + 1
        must(interior >= 0, f"interior padding of {interior}")
        agree([size], [max(0, low + high + length + max(0, length - 1) * interior)], "an output")
        dims.append(Dim(low, step, size, (max(0, -(low // step)), min(length - 1, (size - 1 - low) // step))))
    return dims
