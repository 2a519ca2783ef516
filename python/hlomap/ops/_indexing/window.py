"""Index expressions along one dimension of a sliding window, for pooling and convolution.

Output o and window element s read the padded operand at position ``p = o * stride + s * window_dilation - pad_low``,
counted in the operand dilated by ``base_dilation``.  It is an element of the operand where
``0 <= p <= (operand_size - 1) * base_dilation`` and ``p mod base_dilation = 0``, namely ``p / base_dilation``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from ..._core import Expr
from .._attributes import WindowedDim
from .._rule import Bounds, ExprLike, Footprint
from .._shapes import require_int64
from .maps import full_bounds, single_map

Constraints: TypeAlias = list[tuple[ExprLike, int, int]]
WindowIndex: TypeAlias = tuple[ExprLike, Bounds, Constraints]
"""An index, the bounds of the variable it is computed from, and the conditions under which it is an element."""
IndexLaw: TypeAlias = Callable[[WindowedDim, Expr, ExprLike], WindowIndex]


def operand_index(dim: WindowedDim, output: Expr, element: ExprLike) -> WindowIndex:
    """The operand index for an output and a window element."""
    step, begin = _position_in_window(dim)
    moved, within = (dim.stride, output, dim.output_size), (step, element)
    return _divided(dim.size, moved, within, begin, dim.base_dilation, dim.operand_size)


def output_index(dim: WindowedDim, operand: Expr, element: ExprLike) -> WindowIndex:
    """The output index for an operand index and a window element."""
    step, begin = _position_in_window(dim)
    moved, within = (dim.base_dilation, operand, dim.operand_size), (-step, element)
    return _divided(dim.size, moved, within, -begin, dim.stride, dim.output_size)


class Windows(NamedTuple):
    """The parts of maps by windows: the element of each window, the ranges of these, the dims of the map, the index of
    each window, and the conditions of all."""

    elements: list[ExprLike]
    ranges: list[Bounds]
    dims: list[Bounds]
    indices: list[ExprLike]
    constraints: Constraints


def windows_along(places: Sequence[int], sizes: Sequence[int], dims: Sequence[WindowedDim], index: IndexLaw) -> Windows:
    """The parts of maps from an array of these sizes whose dims ``places`` have windows, by :func:`operand_index` or
    :func:`output_index`."""
    elements: list[ExprLike] = []
    ranges: list[Bounds] = []
    bounds, indices, constraints = full_bounds(sizes), [], []
    for place, dim in zip(places, dims, strict=True):
        element: ExprLike = 0
        if dim.size > 1:
            element = Expr.range(len(ranges))
            ranges.append((0, dim.size - 1))
        own, bounds[place], conditions = index(dim, Expr.dim(place), element)
        elements.append(element)
        indices.append(own)
        constraints += conditions
    return Windows(elements, ranges, bounds, indices, constraints)


def map_by_windows(sizes: Sequence[int], dims: Sequence[WindowedDim], index: IndexLaw) -> Footprint:
    """The map from an array of these sizes with a window in every dimension."""
    found = windows_along(range(len(dims)), sizes, dims, index)
    return single_map(found.dims, found.indices, ranges=found.ranges, constraints=found.constraints)


def _position_in_window(dim: WindowedDim) -> tuple[int, int]:
    """Factor and constant of the position of window element s in the operand: ``factor * s + constant``."""
    factor = dim.window_dilation if dim.size > 1 else 0
    return (-factor, factor * (dim.size - 1) - dim.pad_low) if dim.reversal else (factor, -dim.pad_low)


def _divided(
    size: int, moved: tuple[int, Expr, int], within: tuple[int, ExprLike], constant: int, divisor: int, n: int
) -> WindowIndex:
    """The index ``p / divisor`` below ``n`` for ``p = factor * variable + step * element + constant``.

    It exists where the divisor divides p, and p is in ``[0, last]``.  The variable has ``count`` values, the element
    ``size``.
    """
    (factor, variable, count), (step, element), last = moved, within, (n - 1) * divisor
    least = constant + min(0, step * (size - 1))
    most = factor * (count - 1) + constant + max(0, step * (size - 1))
    require_int64(least)
    require_int64(max(most, last))
    position = variable * factor + (element * step + constant)
    bounds: Bounds = (0, count - 1)
    constraints: Constraints = []
    if size == 1:
        bounds = max(0, -(constant // factor)), min(count - 1, (last - constant) // factor)
    elif least < 0 or most > last:
        constraints.append((position, 0, last))
    if divisor == 1:
        return position, bounds, constraints
    if factor % divisor or constant % divisor or step % divisor:
        constraints.append((position % divisor, 0, 0))
        return position // divisor, bounds, constraints
    index = variable * (factor // divisor) + (element * (step // divisor) + constant // divisor)
    return index, bounds, constraints
