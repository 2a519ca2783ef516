"""``AllocateBuffer``: memory that nothing has written."""

from __future__ import annotations

from .._core import Instruction
from .body import Body, require


def allocate_buffer(instruction: Instruction) -> str:
    """An array that reads nothing, of zeros."""
    body = Body(instruction)
    require(not body.operands, f"{len(body.operands)} operands, where AllocateBuffer has none")
    output = instruction.shape
    require(output.is_array, "its result is not an array")
    return body.finish(output, [body.filled(output.dtype, output.dimensions, 0)])
