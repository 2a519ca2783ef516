"""Windows at offsets that are values: those of dynamic slices as NumPy slices, of gather and scatter as indices."""

from __future__ import annotations

from collections.abc import Sequence

from ...lazy import np
from .._attributes import GatherDimensions
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
