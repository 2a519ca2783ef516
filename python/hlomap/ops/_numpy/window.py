"""Windows of arrays: sliding ones by padding and striding, and those at offsets that are values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.dtypes import is_packed
from ...base.lazy import np
from .._attributes import GatherDimensions, WindowedDim
from .._evaluation import Array, Value


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


# Windows at offsets that are values: those of dynamic slices as NumPy slices, of gather and scatter as indices.


def window_slices(offsets: Sequence[Value], sizes: Sequence[int], window: Sequence[int]) -> tuple[slice, ...]:
    """The slices of a window at offsets, scalars or one vector, clamped so that the window fits."""
    values = [int(x) for offset in offsets for x in np.asarray(offset).reshape(-1)]
    starts = [min(max(x, 0), size - extent) for x, size, extent in zip(values, sizes, window, strict=True)]
    return tuple(slice(start, start + extent) for start, extent in zip(starts, window, strict=True))


def index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """All index vectors as s64 with their components last; u64 values beyond the range of s64 become its maximum."""
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    moved = np.moveaxis(indices, index_vector_dim, -1)
    if moved.dtype == np.uint64:
        moved = np.minimum(moved, np.uint64(2**63 - 1))
    return moved.astype(np.int64)


def window_indices(
    d: GatherDimensions, vectors: Array, sizes: Sequence[int], last: Sequence[int]
) -> tuple[list[Array], Array]:
    """The index along each operand dimension of every element of the windows, and which windows fit.

    Both broadcast to ``sizes``, those of all windows.  Starts are clamped to [0, last].
    """
    rank, fits = len(sizes), np.ones([1] * len(sizes), np.bool_)
    starts = np.expand_dims(vectors, tuple(d.window_dims.values()))
    paired = {p: d.batch_dims[i] for i, p in d.paired_dims.items()}
    found = []
    for p, end in enumerate(last):
        along = paired.get(p, d.window_dims.get(p))
        at = np.arange(1 if along is None else sizes[along]).reshape([-1 if i == along else 1 for i in range(rank)])
        if p in d.start_components and p not in paired:
            start = starts[..., d.start_components[p]]
            fits = fits & (start >= 0) & (start <= end)
            at = at + np.clip(start, 0, end)
        found.append(at)
    return found, fits
