"""Semantics of gather: slices of the operand at clamped starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Value
from .._numpy.index_vectors import index_vectors


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The operand index of every output element along each dimension, then one lookup."""
    attributes = instruction.attributes
    data, sizes = np.asarray(operands[0]), instruction.shape.dimensions
    slices, collapsed = attributes["slice_sizes"], set(attributes["collapsed_slice_dims"])
    paired = tuple(attributes.get("operand_batching_dims", ()))
    offset_dims = sorted(attributes["offset_dims"])
    vector_dim = int(attributes["index_vector_dim"])
    starts = index_vectors(np.asarray(operands[1]), vector_dim)
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
            at = at + np.clip(starts[..., component], 0, data.shape[p] - slices[p])
        index.append(at)
    return np.broadcast_to(data[tuple(index)] if index else data, sizes)
