"""The windows of a select-and-scatter."""

from __future__ import annotations

from ..._core import Instruction
from .._shapes import agree, must
from .._window import WindowDim, window_dims


def dims_of(instruction: Instruction) -> list[WindowDim]:
    operand, source = (x.shape.dimensions for x in instruction.operands[:2])
    agree(instruction.shape.dimensions, operand, "an output")
    dims = window_dims(instruction.attributes.get("window"), operand, source)
    must(len(dims) == len(operand), "a window of all dimensions")
    must(all(dim.base == 1 and not dim.reversal for dim in dims), "a plain window")
    return dims
