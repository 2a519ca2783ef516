"""``SliceToDynamic`` and ``PadToStatic``: convert between static arrays with separate sizes, and dynamic arrays.

Also ``AllocateBuffer``: memory that nothing has written.
"""

from __future__ import annotations

from .body import Array, Call
from .config import require


def slice_to_dynamic(call: Call) -> list[Array]:
    """array, sizes -> the first elements along every dimension."""
    rank = (call.shapes or [call.instruction.shape])[0].rank
    sizes = call.operands[1:]
    require(len(sizes) == rank, f"{len(sizes)} sizes for an array with {rank} dimensions")
    return [call.with_sizes(sizes)]


def pad_to_static(call: Call) -> list[Array]:
    """dynamic array -> the array, filled up to its bounds, and its sizes."""
    call.require_operands(1, "PadToStatic has 1")
    (array,), parts = call.operands, call.results if call.instruction.shape.is_tuple else ()
    fits = len(parts) == 1 + array.rank and all(part.is_array for part in parts)
    require(fits, "its result is not the array and its sizes")
    zeros = array.like(0)
    start = call.filled("s32", (), 0)
    starts = [start] * array.rank
    padded = call.write(array.dtype, array.dimensions, "dynamic-update-slice", zeros, array, *starts)
    sizes = [call.write("s32", (), "get-dimension-size", array, dimensions=[k]) for k in range(array.rank)]
    return [padded, *sizes]


def allocate_buffer(call: Call) -> list[Array]:
    """An array that reads nothing, of zeros."""
    call.require_operands(0, "AllocateBuffer has none")
    output = call.instruction.shape
    require(output.is_array, "its result is not an array")
    return [call.filled(output.dtype, output.dimensions, 0)]
