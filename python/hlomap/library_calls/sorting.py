"""Sorts of CUB, and ``TopK`` of XLA's CPU and GPU backends: along the last dimension.  Running sums of CUB."""

from __future__ import annotations

import math

from .._core import Shape
from ..writing.arguments import array_shape
from .body import Array, Call
from .config import Config, require


def topk(call: Call) -> list[Array]:
    """values -> (values, indices): along the last dimension, k from the sizes of the result."""
    call.require_operands(1, "TopK has 1")
    parts = call.results
    require(len(parts) == 2 and parts[1].dtype == "s32", "its result is not a pair of values and s32 indices")
    k = parts[0].dimensions[-1] if parts[0].rank else 0
    return call.write_tuple(
        [(part.dtype, part.dimensions) for part in parts], "topk", *call.operands, k=k, largest=True
    )


def radix_sort(call: Call) -> list[Array]:
    """keys [, values] -> (keys, [values,] workspace): values are moved with their keys; floats are in total order."""
    config = Config.whole(call.instruction).only({"descending", "batch_size"})
    direction = "GT" if config.flag("descending", False) else "LT"
    n = len(call.operands)
    require(n in (1, 2) and call.operands[0].rank > 0, f"{n} operands, but a radix sort has keys, and maybe values")
    sizes = call.operands[0].dimensions
    rows = math.prod(sizes[:-1])
    require(config.integer("batch_size", rows) in (0, rows), "a batch_size that is not the number of rows")

    types = [one.dtype for one in call.operands]
    total = "TOTALORDER" if types[0].startswith(("f", "bf")) else None

    def order(a: Array, b: Array, *_: Array) -> Array:
        return call.write("pred", (), "compare", a, b, direction=direction, type=total)

    to_apply = call.computation(order, [array_shape(dtype, ()) for dtype in types for _ in "ab"])
    attributes = {"dimensions": [len(sizes) - 1], "is_stable": True, "to_apply": to_apply}
    if n == 1:
        return [call.write(types[0], sizes, "sort", *call.operands, **attributes)]
    return call.write_tuple([(dtype, sizes) for dtype in types], "sort", *call.operands, **attributes)


def running_sum(call: Call) -> list[Array]:
    """A sum along the middle of three dimensions, ``column_length`` x ``row_length`` x ``vector_length`` in memory."""
    config = Config.whole(call.instruction)
    config.only({"vector_length", "row_length", "column_length", "kind", "is_reverse"})
    require(config.get("kind") in (1, "SUM"), f"kind={config.get('kind')}")
    call.require_operands(1, "a running sum has 1")
    source, output = call.shapes[0], call.result()
    require(output.dimensions == source.dimensions, f"a result {output} for {source}")
    sizes = [config.integer(f"{name}_length") for name in ("column", "row", "vector")]
    fits = min(sizes) > 0 and math.prod(sizes) == source.n_elements == source.buffer_elements
    require(fits, f"{sizes} elements, but the operand is {source}")

    order, back = _memory_order(source), _memory_order(output)
    rows = call.operands[0].converted(output.dtype).transposed(order).reshaped(sizes)
    start = call.filled(output.dtype, (), 0)
    pad = f"0_{sizes[1] - 1}" if config.flag("is_reverse", False) else f"{sizes[1] - 1}_0"
    along = {"window": f"{{size=1x{sizes[1]}x1 pad=0_0x{pad}x0_0}}", "to_apply": call.reducer("add", output.dtype)}
    sums = call.write(output.dtype, sizes, "reduce-window", rows, start, **along)
    return [sums.reshaped([output.dimensions[d] for d in back]).transposed([back.index(d) for d in range(output.rank)])]


def _memory_order(shape: Shape) -> list[int]:
    """The dimensions, major to minor."""
    return list(range(shape.rank)) if shape.layout is None else list(reversed(shape.layout.minor_to_major))
