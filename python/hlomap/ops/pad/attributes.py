"""The padding of each dimension."""

from __future__ import annotations

from typing import NamedTuple

from ..._core import Instruction


class PaddedDim(NamedTuple):
    """One dimension: the operand elements in ``kept`` lie ``step`` apart in the output, from ``low`` on.

    In the output these are within ``data``, which is empty as ``(0, -1)``.
    """

    low: int
    step: int
    size: int
    kept: tuple[int, int]
    data: tuple[int, int]


def padded_dims(instruction: Instruction) -> list[PaddedDim]:
    """The dimensions of operand and output."""
    dims = []
    sizes, lengths = instruction.shape.dimensions, instruction.operands[0].shape.dimensions
    for (low, _, interior), size, length in zip(instruction.attributes["padding"], sizes, lengths, strict=True):
        step = interior + 1
        begin, end = -(low // step) if low < 0 else 0, min(length - 1, (size - 1 - low) // step)
        data = (low + step * begin, low + step * end) if begin <= end else (0, -1)
        dims.append(PaddedDim(low, step, size, (begin, end), data))
    return dims
