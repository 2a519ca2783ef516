"""Dimension numbers of a scatter."""

from __future__ import annotations

from ..._core import Instruction
from .._attributes import GatherDimensions, indices_batch_dims


def scatter_dimensions(instruction: Instruction) -> tuple[int, GatherDimensions]:
    """The number n of operands, and how the dimensions of operands, indices and updates correspond."""
    attributes, operands = instruction.attributes, instruction.operands
    n = len(operands) // 2
    sizes, indices, updates = (operands[k].shape.dimensions for k in (0, n, n + 1))
    paired = dict(
        zip(attributes.get("scatter_indices_batching_dims", ()), attributes.get("input_batching_dims", ()), strict=True)
    )
    removed = {*attributes["inserted_window_dims"], *paired.values()}
    window_dims, vector_dim = attributes["update_window_dims"], attributes["index_vector_dim"]
    rest = [u for u in range(len(updates)) if u not in window_dims]
    vector = dict(zip(indices_batch_dims(indices, vector_dim), rest, strict=True))
    window = dict(zip((p for p in range(len(sizes)) if p not in removed), window_dims, strict=True))
    extents = tuple(updates[window[p]] if p in window else 1 for p in range(len(sizes)))
    starts = {p: k for k, p in enumerate(attributes["scatter_dims_to_operand_dims"])}
    return n, GatherDimensions(
        sizes, extents, updates, indices, window, vector, paired, starts, vector_dim, n, clamps=False
    )
