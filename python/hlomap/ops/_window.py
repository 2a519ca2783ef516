"""Window arithmetic along one dimension, shared by pooling and convolution.

Read :class:`WindowDim` first.  The law: output o and window place s meet operand place
``p = o * stride + s * dilation - low``, counted in the operand spread out by ``base``; it is an element where
``0 <= p <= (length - 1) * base`` and ``p mod base = 0``, namely element ``p / base``.
The arrays of :func:`spread` and :func:`windows` are built by padding and striding, not from that law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .._core import Expr
from ..dtypes import is_packed
from ._evaluation import Array
from ._indexing.maps import affine_bounds
from ._rule import Bounds, ExprLike
from ._shapes import agree, checked, must


@dataclass(frozen=True)
class WindowDim:
    """One dimension of a window over ``length`` elements with ``outputs`` results."""

    size: int
    stride: int
    low: int
    high: int
    base: int
    dilation: int
    reversal: bool
    length: int
    outputs: int

    def element(self, output: Expr, place: Expr | None) -> Meeting:
        """The operand element for an output and a place in the window; None where the window has one place only."""
        sign, begin = self._within()
        last = (self.length - 1) * self.base
        moved, placed = (self.stride, output, self.outputs), (sign, place, self.size)
        return _meeting(moved, placed, begin - self.low, last, self.base)

    def output(self, element: Expr, place: Expr | None) -> Meeting:
        """The output for an operand element and a place in the window."""
        sign, begin = self._within()
        last = (self.outputs - 1) * self.stride
        return _meeting(
            (self.base, element, self.length), (-sign, place, self.size), self.low - begin, last, self.stride
        )

    def _within(self) -> Bounds:
        """Where place s lies in the window: ``factor * s + begin``."""
        return (-self.dilation, self.dilation * (self.size - 1)) if self.reversal else (self.dilation, 0)


def _meeting(
    moved: tuple[int, Expr, int], placed: tuple[int, Expr | None, int], constant: int, last: int, step: int
) -> Meeting:
    """Where ``factor * variable + factor * place + constant`` is a multiple of ``step`` in ``[0, last]``."""
    factor, variable, count = moved
    place_factor, place, size = placed
    position: ExprLike = factor * variable + constant
    if place is not None:
        position = factor * variable + place_factor * place + constant
    bounds = (0, count - 1)
    constraints: list[tuple[ExprLike, int, int]] = []
    terms = [(factor, bounds), (place_factor, (0, size - 1))]
    reach = affine_bounds(terms if place is not None else terms[:1], constant)
    for end in (*reach, last):
        checked(end)
    if place is None:
        bounds = max(0, -(constant // factor)), min(count - 1, (last - constant) // factor)
    elif reach[0] < 0 or reach[1] > last:
        constraints.append((position, 0, last))
    if factor % step or constant % step or (place is not None and place_factor % step):
        constraints.append((position % step, 0, 0))
        return Meeting(position // step, bounds, constraints)
    index: ExprLike = factor // step * variable + constant // step
    if place is not None:
        index = factor // step * variable + place_factor // step * place + constant // step
    return Meeting(index, bounds, constraints)


@dataclass(frozen=True)
class Meeting:
    """An index, the bounds of the variable it was made from, and when it is an element at all."""

    index: ExprLike
    bounds: Bounds
    constraints: list[tuple[ExprLike, int, int]] = field(default_factory=list)


def window_dims(window: Any, lengths: Sequence[int], outputs: Sequence[int]) -> list[WindowDim]:
    """The dimensions of a ``window`` attribute over an operand and an output of those sizes."""
    dims = [
        WindowDim(
            w.size,
            w.stride,
            w.pad_low,
            w.pad_high,
            w.base_dilation,
            w.window_dilation,
            bool(w.reversal),
            length,
            output,
        )
        for w, length, output in zip(window.dims if window is not None else (), lengths, outputs, strict=True)
    ]
    for dim in dims:
        must(min(dim.size, dim.stride, dim.base, dim.dilation) > 0, "a window without size, stride or dilation")
        spread_length = (max(0, (dim.length - 1) * dim.base + 1) if dim.length else 0) + dim.low + dim.high
        room = spread_length - (dim.size - 1) * dim.dilation - 1
        agree([dim.outputs], [max(0, room // dim.stride + 1)], "an output")
    return dims


def place_variables(dims: Sequence[WindowDim]) -> tuple[list[Expr | None], list[Bounds]]:
    """A range variable for each dimension whose window has more than one place."""
    places: list[Expr | None] = []
    ranges: list[Bounds] = []
    for dim in dims:
        places.append(Expr.range(len(ranges)) if dim.size > 1 else None)
        if dim.size > 1:
            ranges.append((0, dim.size - 1))
    return places, ranges


# ------------------------------------------------------------------------------------------------------------- arrays


def spread(array: Array, axes: Sequence[int], dims: Sequence[WindowDim], fill: Any) -> Array:
    """The operand with places put between its elements and at its ends; negative ends cut."""
    for axis, dim in zip(axes, dims, strict=True):
        sizes = list(array.shape)
        sizes[axis] = max(0, (sizes[axis] - 1) * dim.base + 1) if sizes[axis] else 0
        wide = np.full(sizes, fill, array.dtype)
        wide[(slice(None),) * axis + (slice(None, None, dim.base),)] = array
        ends = [(0, 0)] * array.ndim
        ends[axis] = (max(0, dim.low), max(0, dim.high))
        grown = np.pad(wide, ends, constant_values=fill)
        cut = slice(max(0, -dim.low), max(0, grown.shape[axis] - max(0, -dim.high)))
        array = grown[(slice(None),) * axis + (cut,)]
    return array


def windows(array: Array, axes: Sequence[int], dims: Sequence[WindowDim]) -> Array:
    """Each window of an array as new dimensions at the end, in the order of ``axes``."""
    if is_packed(array.dtype):
        # Views with other strides are made by the name of a type, which these do not have.
        return windows(array.view(f"u{array.dtype.itemsize}"), axes, dims).view(array.dtype)
    for axis, dim in zip(axes, dims, strict=True):
        extent = (dim.size - 1) * dim.dilation + 1
        if array.shape[axis] < extent:
            sizes = list(array.shape)
            sizes[axis] = 0
            array = np.zeros((*sizes, dim.size), array.dtype)
            continue
        seen = sliding_window_view(array, extent, axis=axis)[..., :: dim.dilation]
        array = seen[(slice(None),) * axis + (slice(None, None, dim.stride),)]
    return array
