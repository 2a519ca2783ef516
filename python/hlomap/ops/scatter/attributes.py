"""Dimension numbers of a scatter."""

from __future__ import annotations

from ..._core import Instruction
from .._attributes import GatherDimensions, indices_batch_dims
from .._shapes import require, require_sizes


def scatter_dimensions(instruction: Instruction) -> tuple[int, GatherDimensions]:
    """The number n of operands, and how the dimensions of operands, indices and updates correspond, checked."""
    attributes, operands = instruction.attributes, instruction.operands
    n = len(operands) // 2
    require(len(operands) == 2 * n + 1, "expected n operands, indices and n updates")
    sizes, indices, updates = (tuple(operands[k].shape.dimensions) for k in (0, n, n + 1))
    paired = dict(
        zip(attributes.get("scatter_indices_batching_dims", ()), attributes.get("input_batching_dims", ()), strict=True)
    )
    removed = {*attributes["inserted_window_dims"], *paired.values()}
    window_dims, map_dims = attributes["update_window_dims"], attributes["scatter_dims_to_operand_dims"]
    vector_dim = int(attributes["index_vector_dim"])
    rest = [u for u in range(len(updates)) if u not in window_dims]
    vector = dict(zip(indices_batch_dims(indices, vector_dim, len(map_dims)), rest, strict=True))
    window = dict(zip((p for p in range(len(sizes)) if p not in removed), window_dims, strict=True))
    extents = tuple(updates[window[p]] if p in window else 1 for p in range(len(sizes)))
    require(
        all(extents[p] <= sizes[p] for p in range(len(sizes)) if p not in paired.values()),
        "update windows are larger than the operand",
    )
    require_sizes((updates[u] for u in vector.values()), (indices[i] for i in vector), "an update")
    require_sizes((indices[i] for i in paired), (sizes[p] for p in paired.values()), "batching dimensions")
    for k in range(n):
        require_sizes(operands[k].shape.dimensions, sizes, "an operand")
        require_sizes(operands[n + 1 + k].shape.dimensions, updates, "an update")
    starts = {p: k for k, p in enumerate(map_dims)}
    return n, GatherDimensions(
        sizes, extents, updates, indices, window, vector, paired, starts, vector_dim, n, clamps=False
    )
