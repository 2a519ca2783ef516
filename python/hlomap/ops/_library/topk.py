"""``TopK`` of XLA's CPU and GPU backends: the largest elements of each row, and their positions."""

from __future__ import annotations

from ..._core import Instruction
from .body import Body, array_text, require

__all__ = ["topk"]


def topk(instruction: Instruction) -> str:
    """values -> (values, indices): along the last dimension, k from the sizes of the result."""
    body = Body(instruction)
    require(len(body.operands) == 1, f"{len(body.operands)} operands, where TopK has 1")
    parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else ()
    require(len(parts) == 2 and parts[1].dtype == "s32", "its result is not a pair of values and s32 indices")
    operand = body.operands[0]
    sizes = (*operand.dimensions[:-1], parts[0].dimensions[-1]) if operand.rank and parts[0].rank else ()
    require(all(tuple(part.dimensions) == sizes for part in parts), "its result has other rows than its operand")
    pair = f"({array_text(operand.dtype, sizes)}, {array_text('s32', sizes)})"
    return body.finish_with(f"{pair} topk(p0), k={sizes[-1]}, largest=true")
