"""Dimension numbers of a gather."""

from __future__ import annotations

from ..._core import Instruction
from .._attributes import GatherDimensions, indices_batch_dims
from .._shapes import require, require_sizes


def gather_dimensions(instruction: Instruction) -> GatherDimensions:
    """How the dimensions of operand, indices and output correspond, checked."""
    attributes = instruction.attributes
    operand, indices = (tuple(x.shape.dimensions) for x in instruction.operands)
    slices, offset_dims, map_dims = (
        tuple(attributes[name]) for name in ("slice_sizes", "offset_dims", "start_index_map")
    )
    batching = dict(
        zip(attributes.get("operand_batching_dims", ()), attributes.get("start_indices_batching_dims", ()), strict=True)
    )
    removed = {*attributes["collapsed_slice_dims"], *batching}
    vector_dim = int(attributes["index_vector_dim"])
    require(
        len(slices) == len(operand) and all(0 <= w <= n for w, n in zip(slices, operand, strict=True)),
        "slice_sizes are negative or larger than the operand",
    )
    require(all(slices[i] <= 1 for i in removed), "collapsed and batching dimensions must have slice size 1 or 0")
    vectors = indices_batch_dims(indices, vector_dim, len(map_dims))
    kept = [i for i in range(len(operand)) if i not in removed]
    batch = [i for i in range(instruction.shape.rank) if i not in offset_dims]
    window_dims, batch_dims = dict(zip(kept, offset_dims, strict=True)), dict(zip(vectors, batch, strict=True))
    expected = {**{o: slices[p] for p, o in window_dims.items()}, **{o: indices[i] for i, o in batch_dims.items()}}
    require_sizes(instruction.shape.dimensions, (expected[i] for i in range(len(expected))), "the output")
    require_sizes((operand[p] for p in batching), (indices[i] for i in batching.values()), "batching dimensions")
    starts = {p: k for k, p in enumerate(map_dims) if p not in batching}
    paired = {i: p for p, i in batching.items()}
    sizes = tuple(instruction.shape.dimensions)
    return GatherDimensions(
        operand, slices, sizes, indices, window_dims, batch_dims, paired, starts, vector_dim, 1, clamps=True
    )
