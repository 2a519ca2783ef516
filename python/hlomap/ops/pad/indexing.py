"""Indexing rules of pad."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, map_to_all, map_to_scalar, outside, range_exprs, single_map
from .._indexing.sizes_in_use import is_dynamic, over_approximate
from .._rule import RuleContext, RuleResult
from .attributes import PaddedDim, padded_dims


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[(d - low) / (interior + 1)] for data, the padding value for all other elements."""
    dims, indices, shape = padded_dims(instruction), dim_exprs(instruction.shape.rank), instruction.shape
    is_data = _conditions(dims, indices)
    results = [(d - dim.low) // dim.step for d, dim in zip(indices, dims, strict=True)]
    data = single_map(shape, results, constraints=[condition[:3] for condition in is_data])
    if _ends_vary(instruction):
        return [over_approximate(data), over_approximate(map_to_scalar(shape))]
    return [data, outside(shape, (), is_data)]


def _ends_vary(instruction: Instruction) -> bool:
    """Whether padding follows the last element in use of a dynamic dimension, wherever that is."""
    shape = instruction.operands[0].shape
    return True in shape.dynamic and any(
        high > 0 and is_dynamic(shape, i) for i, (_, high, _) in enumerate(instruction.attributes["padding"])
    )


def _conditions(dims: Sequence[PaddedDim], indices: Sequence[Expr]) -> list[tuple[Expr, int, int, int, int]]:
    """The expressions of an index in the output with their bounds, first where the element is data, then anywhere."""
    found = []
    for d, dim in zip(indices, dims, strict=True):
        found.append((d, *dim.data, 0, dim.size - 1))
        if dim.step > 1:
            found.append(((d - dim.low) % dim.step, 0, 0, 0, dim.step - 1))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[low + (interior + 1) * d] for data; every other element, as ranges, for the padding value."""
    dims = padded_dims(instruction)
    if operand == 0:
        results = [d * dim.step + dim.low for d, dim in zip(dim_exprs(len(dims)), dims, strict=True)]
        data = single_map([dim.kept for dim in dims], results)
        return [over_approximate(data) if _ends_vary(instruction) else data]
    if _ends_vary(instruction):
        return [over_approximate(map_to_all((), instruction.shape))]
    indices = range_exprs(len(dims))
    return [outside((), indices, _conditions(dims, indices), ranges=instruction.shape)]
