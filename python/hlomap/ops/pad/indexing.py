"""Indexing rules of pad."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import full_bounds, map_to_all, map_to_scalar, single_map
from .._indexing.sizes_in_use import is_dynamic, over_approximate
from .._rule import NOTHING, Bounds, ExprLike, RuleContext, RuleResult
from .attributes import PaddedDim, padded_dims


def _data(dims: Sequence[PaddedDim]) -> tuple[list[Bounds], list[tuple[ExprLike, int, int]]]:
    """Bounds and constraints of the output elements that are data."""
    constraints = [((Expr.dim(i) - dim.low) % dim.step, 0, 0) for i, dim in enumerate(dims) if dim.step > 1]
    return [(dim.first, dim.last) for dim in dims], list(constraints)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[(d - low) / (interior + 1)] for data, the padding value for all other elements."""
    dims = padded_dims(instruction)
    bounds, constraints = _data(dims)
    results: list[ExprLike] = [(Expr.dim(i) - dim.low) // dim.step for i, dim in enumerate(dims)]
    if _ends_vary(instruction):
        data = single_map(bounds, results, constraints=constraints)
        return [over_approximate(data), over_approximate(map_to_scalar(instruction.shape.dimensions))]
    value = NOTHING
    for outside, extra in _complement(dims):
        value = value + single_map(outside, [], constraints=extra)
    return [single_map(bounds, results, constraints=constraints), value]


def _ends_vary(instruction: Instruction) -> bool:
    """Whether padding follows the last element in use of a dynamic dimension, wherever that is."""
    shape = instruction.operands[0].shape
    return any(high > 0 and is_dynamic(shape, i) for i, (_, high, _) in enumerate(instruction.attributes["padding"]))


def _complement(dims: Sequence[PaddedDim]) -> list[tuple[list[Bounds], list[tuple[ExprLike, int, int]]]]:
    """Bounds and constraints of disjoint sets of output elements that together are all that is not data."""
    pieces = []
    sizes = full_bounds(dim.size for dim in dims)
    for i, dim in enumerate(dims):
        before, constraints = _data(dims[:i])
        if dim.kept[0] > dim.kept[1]:
            pieces.append((before + sizes[i:], constraints))
            break
        for bounds in ((0, dim.first - 1), (dim.last + 1, dim.size - 1)):
            pieces.append(([*before, bounds, *sizes[i + 1 :]], constraints))
        if dim.step > 1:
            between = ((Expr.dim(i) - dim.low) % dim.step, 1, dim.step - 1)
            pieces.append(([*before, (dim.first, dim.last), *sizes[i + 1 :]], [*constraints, between]))
    return pieces


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[low + (interior + 1) * d] for data; every other element, as ranges, for the padding value."""
    dims = padded_dims(instruction)
    if operand == 0:
        data = single_map([dim.kept for dim in dims], [dim.low + dim.step * Expr.dim(i) for i, dim in enumerate(dims)])
        return [over_approximate(data) if _ends_vary(instruction) else data]
    if _ends_vary(instruction):
        return [over_approximate(map_to_all((), instruction.shape.dimensions))]
    indices = [Expr.range(i) for i in range(len(dims))]
    padding = NOTHING
    for outside, extra in _complement(dims):
        on_ranges = [(_as_ranges(expr, indices), lower, upper) for expr, lower, upper in extra]
        padding = padding + single_map([], indices, ranges=outside, constraints=on_ranges)
    return [padding]


def _as_ranges(expr: ExprLike, ranges: Sequence[Expr]) -> ExprLike:
    return expr.substitute(dims=ranges) if isinstance(expr, Expr) else expr
