"""Indexing rules of select-and-scatter."""

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


def _windows_of_element(
    dims: Sequence[WindowedDim],
) -> tuple[list[ExprLike], list[Expr | None], list[Bounds], Constraints]:
    """The windows that contain an element d: the index of the window, and the index of d in it."""
    elements, ranges = window_variables(dims)
    indices = [
        output_index(dim, Expr.dim(i), element) for i, (dim, element) in enumerate(zip(dims, elements, strict=True))
    ]
    constraints: Constraints = [c for m in indices for c in m.constraints]
    # A window of size 1 restricts the bounds of the element itself.
    constraints += [
        (Expr.dim(i), *m.bounds) for i, m in enumerate(indices) if m.bounds != (0, dims[i].operand_size - 1)
    ]
    return [m.expr for m in indices], elements, ranges, constraints


def _elements_sharing_window(dims: Sequence[WindowedDim]) -> Footprint:
    """From an element to all that share a window with it: d + t - s, with s and t their indices in the window."""
    _, elements, ranges, constraints = _windows_of_element(dims)
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
    """All elements and sources of the windows that contain the element, and the init value."""
    dims = window_dims(instruction)
    sizes = instruction.shape.dimensions
    windows, _, ranges, constraints = _windows_of_element(dims)
    sources = single_map(full_bounds(sizes), windows, ranges=ranges, constraints=constraints)
    return [_elements_sharing_window(dims), sources, map_to_scalar(sizes)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements that share a window with it; for a source its window; for the init value every element."""
    dims = window_dims(instruction)
    if operand == 0:
        return [_elements_sharing_window(dims)]
    if operand == 2:
        return [map_to_all((), instruction.shape.dimensions)]
    elements, ranges = window_variables(dims)
    indices = [
        operand_index(dim, Expr.dim(i), element) for i, (dim, element) in enumerate(zip(dims, elements, strict=True))
    ]
    constraints = [c for m in indices for c in m.constraints]
    return [single_map([m.bounds for m in indices], [m.expr for m in indices], ranges=ranges, constraints=constraints)]
