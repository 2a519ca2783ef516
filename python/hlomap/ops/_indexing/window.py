"""Index expressions along one dimension of a sliding window, for pooling and convolution.

Output o and window element s read the padded operand at position ``p = o * stride + s * window_dilation - pad_low``,
counted in the operand dilated by ``base_dilation``.  It is an element of the operand where
``0 <= p <= (operand_size - 1) * base_dilation`` and ``p mod base_dilation = 0``, namely ``p / base_dilation``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..._core import Expr
from .._attributes import WindowedDim
from .._rule import Bounds, ExprLike, Footprint
from .._shapes import require_int64
from .maps import single_map


class WindowIndex(NamedTuple):
    """An index, the bounds of the variable it is computed from, and the conditions under which it is an element."""

    expr: ExprLike
    bounds: Bounds
    constraints: list[tuple[ExprLike, int, int]]


def operand_index(dim: WindowedDim, output: Expr, element: Expr | None) -> WindowIndex:
    """The operand index for an output and a window element; ``element`` is None for a window of size 1."""
    factor, begin = _position_in_window(dim)
    last = (dim.operand_size - 1) * dim.base_dilation
    moved, within = (dim.stride, output, dim.output_size), (factor, element, dim.size)
    return _divided(moved, within, begin - dim.pad_low, last, dim.base_dilation)


def output_index(dim: WindowedDim, operand: Expr, element: Expr | None) -> WindowIndex:
    """The output index for an operand index and a window element."""
    factor, begin = _position_in_window(dim)
    last = (dim.output_size - 1) * dim.stride
    moved, within = (dim.base_dilation, operand, dim.operand_size), (-factor, element, dim.size)
    return _divided(moved, within, dim.pad_low - begin, last, dim.stride)


def map_by_windows(
    dims: Sequence[WindowedDim], index: Callable[[WindowedDim, Expr, Expr | None], WindowIndex]
) -> Footprint:
    """The map with :func:`operand_index` or :func:`output_index` in every dimension, for all elements of the window."""
    elements, ranges = window_variables(dims)
    found = [index(dim, Expr.dim(i), element) for i, (dim, element) in enumerate(zip(dims, elements, strict=True))]
    constraints = [c for m in found for c in m.constraints]
    return single_map([m.bounds for m in found], [m.expr for m in found], ranges=ranges, constraints=constraints)


def window_variables(dims: Sequence[WindowedDim]) -> tuple[list[Expr | None], list[Bounds]]:
    """A range variable for each dimension whose window has more than one element, and the bounds of the ranges."""
    elements: list[Expr | None] = []
    ranges: list[Bounds] = []
    for dim in dims:
        elements.append(Expr.range(len(ranges)) if dim.size > 1 else None)
        if dim.size > 1:
            ranges.append((0, dim.size - 1))
    return elements, ranges


def _position_in_window(dim: WindowedDim) -> Bounds:
    """Factor and constant of the position of window element s: ``factor * s + constant``."""
    if dim.reversal:
        return -dim.window_dilation, dim.window_dilation * (dim.size - 1)
    return dim.window_dilation, 0


def _divided(
    moved: tuple[int, Expr, int], within: tuple[int, Expr | None, int], constant: int, last: int, divisor: int
) -> WindowIndex:
    """``p / divisor`` for ``p = factor * variable + factor * element + constant``, if divisible and in ``[0, last]``.

    ``moved`` and ``within`` are the two terms: factor, variable, and how many values the variable has.
    """
    factor, variable, count = moved
    element_factor, element, size = within
    least, most = constant, factor * (count - 1) + constant
    bounds = (0, count - 1)
    position: ExprLike = variable * factor + constant
    constraints: list[tuple[ExprLike, int, int]] = []
    if element is not None:
        position = position + element * element_factor
        least += min(0, element_factor * (size - 1))
        most += max(0, element_factor * (size - 1))
    for end in (least, most, last):
        require_int64(end)
    if element is None:
        bounds = max(0, -(constant // factor)), min(count - 1, (last - constant) // factor)
    elif least < 0 or most > last:
        constraints.append((position, 0, last))
    if divisor == 1:
        return WindowIndex(position, bounds, constraints)
    if factor % divisor or constant % divisor or (element is not None and element_factor % divisor):
        constraints.append((position % divisor, 0, 0))
        return WindowIndex(position // divisor, bounds, constraints)
    index: ExprLike = factor // divisor * variable + constant // divisor
    if element is not None:
        index = index + element_factor // divisor * element
    return WindowIndex(index, bounds, constraints)
