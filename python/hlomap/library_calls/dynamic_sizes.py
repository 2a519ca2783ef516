"""``SliceToDynamic`` and ``PadToStatic``: between arrays of their bounds with sizes beside them, and dynamic arrays.

Also ``AllocateBuffer``: memory that nothing has written.
"""

from __future__ import annotations

from .._core import Instruction
from .body import Body, require


def slice_to_dynamic(instruction: Instruction) -> str:
    """array, sizes -> the first elements along every dimension."""
    body = Body(instruction)
    array, *sizes = body.operands or [instruction.shape]
    require(len(sizes) == array.rank, f"{len(sizes)} sizes for an array with {array.rank} dimensions")
    value = body.with_sizes([f"p{k + 1}" for k in range(array.rank)])
    return body.finish(instruction.shape, [value])


def pad_to_static(instruction: Instruction) -> str:
    """dynamic array -> the array, filled up to its bounds, and its sizes."""
    body = Body(instruction)
    body.require_operands(1, "PadToStatic has 1")
    array = body.operands[0]
    parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else ()
    fits = len(parts) == 1 + array.rank and all(part.is_array for part in parts)
    require(fits, "its result is not the array and its sizes")
    zeros = body.filled(array.dtype, array.dimensions, 0)
    start = body.filled("s32", (), 0)
    offsets = "".join(f", {start}" for _ in array.dimensions)
    padded = body.add(array.dtype, array.dimensions, f"dynamic-update-slice({zeros}, p0{offsets})")
    sizes = [body.add("s32", (), f"get-dimension-size(p0), dimensions={{{k}}}") for k in range(array.rank)]
    return body.finish(instruction.shape, [padded, *sizes])


def allocate_buffer(instruction: Instruction) -> str:
    """An array that reads nothing, of zeros."""
    body = Body(instruction)
    body.require_operands(0, "AllocateBuffer has none")
    output = instruction.shape
    require(output.is_array, "its result is not an array")
    return body.finish(output, [body.filled(output.dtype, output.dimensions, 0)])
