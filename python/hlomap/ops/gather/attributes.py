"""Dimension numbers of a gather."""

from __future__ import annotations

from ..._core import Instruction
from .._attributes import GatherDimensions, indices_batch_dims


def gather_dimensions(instruction: Instruction) -> GatherDimensions:
    """How the dimensions of operand, indices and output correspond."""
    attributes = instruction.attributes
    operand, indices = (x.shape.dimensions for x in instruction.operands)
    slices, offset_dims = attributes["slice_sizes"], attributes["offset_dims"]
    batching = dict(
        zip(attributes.get("operand_batching_dims", ()), attributes.get("start_indices_batching_dims", ()), strict=True)
    )
    removed = {*attributes["collapsed_slice_dims"], *batching}
    vector_dim, sizes = attributes["index_vector_dim"], instruction.shape.dimensions
    vectors = indices_batch_dims(indices, vector_dim)
    kept = [i for i in range(len(operand)) if i not in removed]
    batch = [i for i in range(len(sizes)) if i not in offset_dims]
    window_dims, batch_dims = dict(zip(kept, offset_dims, strict=True)), dict(zip(vectors, batch, strict=True))
    starts = {p: k for k, p in enumerate(attributes["start_index_map"]) if p not in batching}
    paired = {i: p for p, i in batching.items()}
    return GatherDimensions(
        operand, slices, sizes, indices, window_dims, batch_dims, paired, starts, vector_dim, 1, clamps=True
    )
