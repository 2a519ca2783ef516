"""Sorts of CUB, and ``TopK`` of XLA's CPU and GPU backends: along the last dimension.  Running sums of CUB."""

from __future__ import annotations

import math

from .._core import Instruction, Shape
from .body import Body, Config, first_result, require


def topk(instruction: Instruction) -> str:
    """values -> (values, indices): along the last dimension, k from the sizes of the result."""
    body = Body(instruction)
    body.require_operands(1, "TopK has 1")
    parts = instruction.shape.tuple_shapes if instruction.shape.is_tuple else ()
    require(len(parts) == 2 and parts[1].dtype == "s32", "its result is not a pair of values and s32 indices")
    k = parts[0].dimensions[-1] if parts[0].rank else 0
    pair = ", ".join(str(part.without_layout()) for part in parts)
    return body.finish_with(f"({pair})", f"topk(p0), k={k}, largest=true")


def radix_sort(instruction: Instruction) -> str:
    """keys [, values] -> (keys, [values,] workspace): values are moved with their keys; floats are in total order."""
    body = Body(instruction)
    config = Config.whole(instruction)
    config.expect_only({"descending", "batch_size"})
    direction = "GT" if config.flag("descending", False) else "LT"
    n = len(body.operands)
    require(n in (1, 2) and body.operands[0].rank > 0, f"{n} operands, where a radix sort has keys, and maybe values")
    sizes = body.operands[0].dimensions
    rows = math.prod(sizes[:-1])
    require(config.integer("batch_size", rows) in (0, rows), "a batch_size that is not the number of rows")

    types = [one.dtype for one in body.operands]
    pairs = [f"{side}{k} = {dtype}[] parameter({{}})" for k, dtype in enumerate(types) for side in "ab"]
    total = ", type=TOTALORDER" if types[0].startswith(("f", "bf")) else ""
    order = [line.format(k) for k, line in enumerate(pairs)]
    body.computation("order", [*order, f"ROOT before = pred[] compare(a0, b0), direction={direction}{total}"])
    attributes = f"dimensions={{{len(sizes) - 1}}}, is_stable=true, to_apply=order"
    if n == 1:
        return body.finish(instruction.shape, [body.add(types[0], sizes, f"sort(p0), {attributes}")])
    both = body.add_tuple([(dtype, sizes) for dtype in types], f"sort(p0, p1), {attributes}")
    parts = [body.add(dtype, sizes, f"get-tuple-element({both}), index={k}") for k, dtype in enumerate(types)]
    return body.finish(instruction.shape, parts)


def running_sum(instruction: Instruction) -> str:
    """A sum along the middle of three dimensions, ``column_length`` x ``row_length`` x ``vector_length`` in memory."""
    body = Body(instruction)
    config = Config.whole(instruction)
    config.expect_only({"vector_length", "row_length", "column_length", "kind", "is_reverse"})
    require(config.get("kind") in (1, "SUM"), f"kind={config.get('kind')}")
    body.require_operands(1, "a running sum has 1")
    source = body.operands[0]
    output = first_result(instruction)
    require(output.dimensions == source.dimensions, f"a result {output} for {source}")
    sizes = [config.integer(f"{name}_length") for name in ("column", "row", "vector")]
    fits = min(sizes) > 0 and math.prod(sizes) == source.n_elements == source.buffer_elements
    require(fits, f"{sizes} elements, where the operand is {source}")

    order, back = _memory_order(source), _memory_order(output)
    rows = body.reshaped(body.transposed(body.converted("p0", output.dtype), order), sizes)
    pad = (0, sizes[1] - 1) if config.flag("is_reverse", False) else (sizes[1] - 1, 0)
    sums = body.window_sum(rows, (1, sizes[1], 1), [(0, 0), pad, (0, 0)])
    value = body.reshaped(sums, [output.dimensions[d] for d in back])
    value = body.transposed(value, [back.index(d) for d in range(output.rank)])
    return body.finish(instruction.shape, [value])


def _memory_order(shape: Shape) -> list[int]:
    """The dimensions, major to minor."""
    return list(range(shape.rank)) if shape.layout is None else list(reversed(shape.layout.minor_to_major))
