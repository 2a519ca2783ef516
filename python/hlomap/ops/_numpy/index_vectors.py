"""The index vectors of gather and scatter as an array."""

from __future__ import annotations

import numpy as np

from .._evaluation import Array


def index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """All index vectors as s64 with their components last; u64 values beyond the range of s64 become its maximum."""
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    moved = np.moveaxis(indices, index_vector_dim, -1)
    if moved.dtype == np.uint64:
        moved = np.minimum(moved, np.uint64(2**63 - 1))
    return moved.astype(np.int64)
