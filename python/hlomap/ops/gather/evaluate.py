"""Semantics of gather: slices of the operand at clamped starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from ...errors import UnsupportedError
from .._evaluation import EvalContext, Value
from .._numpy.dynamic_offsets import index_vectors


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The operand index of every output element along each dimension, then one lookup."""
    attributes = instruction.attributes
    data, bounds = np.asarray(operands[0]), instruction.operands[0].shape.dimensions
    slices, collapsed = list(attributes["slice_sizes"]), set(attributes["collapsed_slice_dims"])
    paired = tuple(attributes.get("operand_batching_dims", ()))
    offset_dims = sorted(attributes["offset_dims"])
    vector_dim = int(attributes["index_vector_dim"])
    starts = index_vectors(np.asarray(operands[1]), vector_dim)
    # A slice of a whole dynamic dimension has the size in use.
    for p, bound in enumerate(bounds):
        slices[p] = data.shape[p] if slices[p] == bound else slices[p]
    sizes = list(instruction.shape.dimensions)
    for i, size in zip((i for i in range(len(sizes)) if i not in offset_dims), starts.shape[:-1], strict=True):
        sizes[i] = size
    # Broadcast against the offsets in a slice: both have the rank of the output.
    starts = np.expand_dims(starts, tuple(offset_dims))
    offset_dim = dict(
        zip((p for p in range(data.ndim) if p not in collapsed and p not in paired), offset_dims, strict=True)
    )
    index = []
    for p in range(data.ndim):
        at = np.zeros([1] * len(sizes), np.int64)
        if p in offset_dim:
            at = at + np.arange(slices[p]).reshape([-1 if i == offset_dim[p] else 1 for i in range(len(sizes))])
        if p in paired:
            own = attributes["start_indices_batching_dims"][paired.index(p)]
            nth = own - (own > vector_dim)
            out = [i for i in range(len(sizes)) if i not in offset_dims][nth]
            at = at + np.arange(data.shape[p]).reshape([-1 if i == out else 1 for i in range(len(sizes))])
        elif p in attributes["start_index_map"]:
            component = list(attributes["start_index_map"]).index(p)
            at = at + np.clip(starts[..., component], 0, bounds[p] - attributes["slice_sizes"][p])
        index.append(at)
    for i, p in zip(offset_dims, offset_dim, strict=True):
        sizes[i] = slices[p]
    if any(at.size and at.max() >= size for at, size in zip(index, data.shape, strict=True)):
        raise UnsupportedError(f"elements are read that are not in use: sizes {list(data.shape)} of {list(bounds)}")
    return np.broadcast_to(data[tuple(index)] if index else data, sizes)
