"""Sliding windows of arrays by padding and striding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...dtypes import is_packed
from ...lazy import np
from .._attributes import WindowedDim
from .._evaluation import Array


def dilate_and_pad(array: Array, axes: Sequence[int], dims: Sequence[WindowedDim], fill: Any) -> Array:
    """The operand with base dilation and padding filled in; negative padding removes elements."""
    for axis, dim in zip(axes, dims, strict=True):
        sizes = list(array.shape)
        sizes[axis] = max(0, (sizes[axis] - 1) * dim.base_dilation + 1) if sizes[axis] else 0
        dilated = np.full(sizes, fill, array.dtype)
        dilated[(slice(None),) * axis + (slice(None, None, dim.base_dilation),)] = array
        ends = [(0, 0)] * array.ndim
        ends[axis] = (max(0, dim.pad_low), max(0, dim.pad_high))
        padded = np.pad(dilated, ends, constant_values=fill)
        kept = slice(max(0, -dim.pad_low), max(0, padded.shape[axis] - max(0, -dim.pad_high)))
        array = padded[(slice(None),) * axis + (kept,)]
    return array


def sliding_windows(array: Array, axes: Sequence[int], dims: Sequence[WindowedDim]) -> Array:
    """Each window of an array as new dimensions at the end, in the order of ``axes``."""
    if is_packed(array.dtype):
        # NumPy makes strided views by the name of a dtype, which the packed dtypes do not have.
        return sliding_windows(array.view(f"u{array.dtype.itemsize}"), axes, dims).view(array.dtype)
    for axis, dim in zip(axes, dims, strict=True):
        extent = (dim.size - 1) * dim.window_dilation + 1
        if array.shape[axis] < extent:
            sizes = list(array.shape)
            sizes[axis] = 0
            array = np.zeros((*sizes, dim.size), array.dtype)
            continue
        view = np.lib.stride_tricks.sliding_window_view(array, extent, axis=axis)[..., :: dim.window_dilation]
        array = view[(slice(None),) * axis + (slice(None, None, dim.stride),)]
    return array
