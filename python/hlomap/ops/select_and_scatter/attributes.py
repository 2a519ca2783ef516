"""The window of a select-and-scatter."""

from __future__ import annotations

from ..._core import Instruction
from .._attributes import WindowedDim, windowed_dims
from .._shapes import require, require_sizes


def window_dims(instruction: Instruction) -> list[WindowedDim]:
    """The windowed dimensions, checked against operand and source."""
    operand, source = (x.shape.dimensions for x in instruction.operands[:2])
    require_sizes(instruction.shape.dimensions, operand, "the output")
    dims = windowed_dims(instruction.attributes.get("window"), operand, source)
    require(len(dims) == len(operand), "expected a window over all dimensions")
    require(
        all(dim.base_dilation == 1 and not dim.reversal for dim in dims),
        "expected a window without base dilation and reversal",
    )
    return dims
