"""Dimension numbers of a ragged-dot."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from .._shapes import require, require_sizes


@dataclass(frozen=True)
class RaggedDotDimensions:
    """A label for each dimension of left side, right side, group sizes and output; paired dimensions share a label.

    ``mode``: whether the ragged dimension is ``free``, ``summed`` (contracted) or ``batch``.
    """

    left: tuple[str, ...]
    right: tuple[str, ...]
    groups: tuple[str, ...]
    output: tuple[str, ...]
    sizes: dict[str, int]
    ragged: str
    mode: str


def ragged_dot_dimensions(instruction: Instruction) -> RaggedDotDimensions:
    """The labels, checked against operands and output."""
    attributes = instruction.attributes
    a, b, g = (tuple(x.shape.dimensions) for x in instruction.operands)
    a_batch, b_batch, a_summed, b_summed, ragged_dims, group_dims = (
        tuple(attributes.get(name, ()))
        for name in (
            "lhs_batch_dims",
            "rhs_batch_dims",
            "lhs_contracting_dims",
            "rhs_contracting_dims",
            "lhs_ragged_dims",
            "rhs_group_dims",
        )
    )
    (ragged_dim,) = ragged_dims
    left = [f"l{i}" for i in range(len(a))]
    right = [f"r{i}" for i in range(len(b))]
    for i, j in zip(a_batch + a_summed, b_batch + b_summed, strict=True):
        require_sizes([a[i]], [b[j]], "paired dimensions")
        right[j] = left[i]
    mode = "batch" if ragged_dim in a_batch else "summed" if ragged_dim in a_summed else "free"
    for j in group_dims:
        right[j] = "g"
    free = [i for i in range(len(a)) if i not in a_batch and i not in a_summed]
    outer = {"free": [*a_batch, *free], "summed": [*a_batch, *a_summed], "batch": a_batch}[mode]
    prefix = [left[i] for i in outer[: list(outer).index(ragged_dim)]]
    groups = [*prefix, "g"] if len(g) > 1 else ["g"]
    sizes = {**dict(zip(right, b, strict=True)), **dict(zip(left, a, strict=True)), "g": g[-1]}
    require_sizes(g, (sizes[label] for label in groups), "the group sizes")
    batch = [left[i] for i in a_batch]
    own = [label for j, label in enumerate(right) if j not in b_batch and j not in b_summed and label != "g"]
    output = [*(["g"] if mode == "summed" else []), *batch, *(left[i] for i in free), *own]
    require_sizes(instruction.shape.dimensions, (sizes[label] for label in output), "the output")
    require(
        ("g" in right) == (mode == "free"),
        "the right side has a group dimension exactly where the ragged dimension is free",
    )
    return RaggedDotDimensions(tuple(left), tuple(right), tuple(groups), tuple(output), sizes, left[ragged_dim], mode)
