"""Sliding windows of arrays by padding and striding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import is_packed
from ...lazy import np
from .._attributes import WindowedDim
from .._evaluation import Array


def padded(array: Array, axes: Sequence[int], padding: Sequence[tuple[int, int, int]], fill: Any) -> Array:
    """The operand with interior padding between its elements, then low and high padding; negative removes elements."""
    for axis, (low, high, interior) in zip(axes, padding, strict=True):
        sizes = list(array.shape)
        sizes[axis] += max(0, sizes[axis] - 1) * interior
        dilated = np.full(sizes, fill, array.dtype)
        dilated[(slice(None),) * axis + (slice(None, None, interior + 1),)] = array
        ends = [(0, 0)] * array.ndim
        ends[axis] = (max(0, low), max(0, high))
        longer = np.pad(dilated, ends, constant_values=fill)
        kept = slice(max(0, -low), max(0, longer.shape[axis] - max(0, -high)))
        array = longer[(slice(None),) * axis + (kept,)]
    return array


def sliding_windows(array: Array, axes: Sequence[int], dims: Sequence[WindowedDim], fill: Any) -> Array:
    """Each window of the padded array as new dimensions at the end, in the order of ``axes``."""
    array, dtype = padded(array, axes, [dim.padding for dim in dims], fill), array.dtype
    if is_packed(dtype):
        # NumPy makes strided views by the name of a dtype, which the packed dtypes do not have.
        array = array.view(f"u{dtype.itemsize}")
    for axis, dim in zip(axes, dims, strict=True):
        extent = (dim.size - 1) * dim.window_dilation + 1
        if array.shape[axis] < extent:
            sizes = list(array.shape)
            sizes[axis] = 0
            array = np.zeros((*sizes, dim.size), array.dtype)
            continue
        view = np.lib.stride_tricks.sliding_window_view(array, extent, axis=axis)[..., :: dim.window_dilation]
        array = view[(slice(None),) * axis + (slice(None, None, dim.stride),)]
    return array.view(dtype) if is_packed(dtype) else array
