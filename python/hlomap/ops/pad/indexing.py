"""Indexing rules of pad."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, full_bounds, map_to_all, map_to_scalar, range_exprs, single_map
from .._indexing.sizes_in_use import is_dynamic, over_approximate
from .._rule import NOTHING, Bounds, RuleContext, RuleResult
from .attributes import PaddedDim, padded_dims


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[(d - low) / (interior + 1)] for data, the padding value for all other elements."""
    dims, indices = padded_dims(instruction), dim_exprs(instruction.shape.rank)
    shifted = [index - dim.low for index, dim in zip(indices, dims, strict=True)]
    data = single_map(
        [(dim.first, dim.last) for dim in dims],
        [distance // dim.step for distance, dim in zip(shifted, dims, strict=True)],
        constraints=[(distance % dim.step, 0, 0) for distance, dim in zip(shifted, dims, strict=True) if dim.step > 1],
    )
    if _ends_vary(instruction):
        return [over_approximate(data), over_approximate(map_to_scalar(instruction.shape))]
    value = NOTHING
    for outside, constraints in _complement(dims, indices):
        value = value + single_map(outside, (), constraints=constraints)
    return [data, value]


def _ends_vary(instruction: Instruction) -> bool:
    """Whether padding follows the last element in use of a dynamic dimension, wherever that is."""
    shape = instruction.operands[0].shape
    return True in shape.dynamic and any(
        high > 0 and is_dynamic(shape, i) for i, (_, high, _) in enumerate(instruction.attributes["padding"])
    )


def _complement(
    dims: Sequence[PaddedDim], indices: Sequence[Expr]
) -> Iterator[tuple[list[Bounds], list[tuple[Expr, int, int]]]]:
    """Bounds and constraints of disjoint sets of output elements that together are all that is not data."""
    bounds, constraints = full_bounds(dim.size for dim in dims), list[tuple[Expr, int, int]]()
    for i, dim in enumerate(dims):
        if dim.kept[0] > dim.kept[1]:
            yield bounds, constraints
            return
        for outside in ((0, dim.first - 1), (dim.last + 1, dim.size - 1)):
            if outside[0] <= outside[1]:
                yield [*bounds[:i], outside, *bounds[i + 1 :]], constraints
        bounds[i] = (dim.first, dim.last)
        if dim.step > 1:
            remainder = (indices[i] - dim.low) % dim.step
            yield bounds, [*constraints, (remainder, 1, dim.step - 1)]
            constraints.append((remainder, 0, 0))


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[low + (interior + 1) * d] for data; every other element, as ranges, for the padding value."""
    dims = padded_dims(instruction)
    if operand == 0:
        results = [d * dim.step + dim.low for d, dim in zip(dim_exprs(len(dims)), dims, strict=True)]
        data = single_map([dim.kept for dim in dims], results)
        return [over_approximate(data) if _ends_vary(instruction) else data]
    if _ends_vary(instruction):
        return [over_approximate(map_to_all((), instruction.shape))]
    indices, padding = range_exprs(len(dims)), NOTHING
    for outside, constraints in _complement(dims, indices):
        padding = padding + single_map((), indices, ranges=outside, constraints=constraints)
    return [padding]
