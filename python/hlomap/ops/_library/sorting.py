"""Sorts of CUB, and ``TopK`` of XLA's CPU and GPU backends: along the last dimension."""

from __future__ import annotations

from ..._core import Instruction
from .body import Body, Config, array_text, require

__all__ = ["radix_sort", "topk"]


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
    return body.finish_with(pair, f"topk(p0), k={sizes[-1]}, largest=true")


def radix_sort(instruction: Instruction) -> str:
    """keys [, values] -> (keys, [values,] workspace): values are moved with their keys; floats are in total order."""
    body = Body(instruction)
    config = Config.whole(instruction)
    config.expect_only({"descending"})
    direction = "GT" if config.flag("descending", False) else "LT"
    n = len(body.operands)
    require(n in (1, 2) and body.operands[0].rank > 0, f"{n} operands, where a radix sort has keys, and maybe values")
    sizes = body.operands[0].dimensions
    require(all(one.dimensions == sizes for one in body.operands), "values of other sizes than the keys")

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
