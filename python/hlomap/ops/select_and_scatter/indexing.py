"""The indexing rule of select-and-scatter."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._attributes import WindowedDim
from .._indexing.maps import full_bounds, map_to_all, map_to_scalar, single_map
from .._indexing.window import operand_index, output_index, window_variables
from .._rule import Bounds, ExprLike, Footprint, RuleContext, RuleResult
from .attributes import window_dims

Constraints = list[tuple[ExprLike, int, int]]


def _windows_over(dims: Sequence[WindowedDim]) -> tuple[list[ExprLike], list[Expr | None], list[Bounds], Constraints]:
    """For an element d the windows that have it: the window's number and d's place in it."""
    elements, ranges = window_variables(dims)
    indices = [
        output_index(dim, Expr.dim(i), element) for i, (dim, element) in enumerate(zip(dims, elements, strict=True))
    ]
    constraints: Constraints = [c for m in indices for c in m.constraints]
    # A window of one place says which elements have one by the bounds of the element itself.
    constraints += [
        (Expr.dim(i), *m.bounds) for i, m in enumerate(indices) if m.bounds != (0, dims[i].operand_size - 1)
    ]
    return [m.index for m in indices], elements, ranges, constraints


def _share_a_window(dims: Sequence[WindowedDim]) -> Footprint:
    """From an element to those in a window with it: at place t where the element is at place s, that is d + t - s."""
    _, elements, ranges, constraints = _windows_over(dims)
    results: list[ExprLike] = []
    for i, (dim, element) in enumerate(zip(dims, elements, strict=True)):
        other: ExprLike = Expr.dim(i)
        if element is not None:
            other = Expr.dim(i) + (Expr.range(len(ranges)) - element) * dim.window_dilation
            ranges.append((0, dim.size - 1))
            constraints.append((other, 0, dim.operand_size - 1))
        results.append(other)
    return single_map(full_bounds(dim.operand_size for dim in dims), results, ranges=ranges, constraints=constraints)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The windows that have the place: all their elements, and their sources."""
    dims = window_dims(instruction)
    sizes = instruction.shape.dimensions
    numbers, _, ranges, constraints = _windows_over(dims)
    sources = single_map(full_bounds(sizes), numbers, ranges=ranges, constraints=constraints)
    return [_share_a_window(dims), sources, map_to_scalar(sizes)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An element reaches what shares a window with it, a source its window, the init everything."""
    dims = window_dims(instruction)
    if operand == 0:
        return [_share_a_window(dims)]
    if operand == 2:
        return [map_to_all((), instruction.shape.dimensions)]
    elements, ranges = window_variables(dims)
    indices = [
        operand_index(dim, Expr.dim(i), element) for i, (dim, element) in enumerate(zip(dims, elements, strict=True))
    ]
    constraints = [c for m in indices for c in m.constraints]
    return [single_map([m.bounds for m in indices], [m.index for m in indices], ranges=ranges, constraints=constraints)]
