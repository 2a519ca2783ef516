"""Offsets of windows: of dynamic slices as NumPy slices, of gather and scatter as an array of index vectors."""

from __future__ import annotations

from collections.abc import Sequence

from ...lazy import np
from .._evaluation import Array, Value


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
