"""Dimension numbers and block sizes of a scaled-dot."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from .._shapes import require, require_sizes


@dataclass(frozen=True)
class ScaledDotDimensions:
    """A label for each dimension of operands and output, and for each operand its block sizes by label."""

    labels: tuple[tuple[str, ...], ...]
    blocks: tuple[dict[str, int], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]


def scaled_dot_dimensions(instruction: Instruction) -> ScaledDotDimensions:
    """The labels, checked against operands and output."""
    attributes = instruction.attributes
    shapes = [tuple(x.shape.dimensions) for x in instruction.operands]
    require(len(shapes) == 4, "expected two sides and their scales")
    batch, summed = (
        [tuple(attributes.get(f"{side}_{kind}_dims", ())) for side in ("lhs", "rhs")]
        for kind in ("batch", "contracting")
    )
    left, right = [f"l{i}" for i in range(len(shapes[0]))], [f"r{i}" for i in range(len(shapes[1]))]
    for i, j in zip(batch[0] + summed[0], batch[1] + summed[1], strict=True):
        require_sizes([shapes[0][i]], [shapes[1][j]], "paired dimensions")
        right[j] = left[i]
    sizes = {**dict(zip(right, shapes[1], strict=True)), **dict(zip(left, shapes[0], strict=True))}
    output = [left[i] for i in batch[0]]
    for labels, dims, contracted in ((left, batch[0], summed[0]), (right, batch[1], summed[1])):
        output += [label for i, label in enumerate(labels) if i not in dims and i not in contracted]
    require_sizes(instruction.shape.dimensions, (sizes[label] for label in output), "the output")
    sides = (tuple(left), tuple(right))
    scales = tuple(labels if shape else () for labels, shape in zip(sides, shapes[2:], strict=True))
    blocks: list[dict[str, int]] = [{}, {}]
    for scaled, shape in zip(scales, shapes[2:], strict=True):
        require(
            all(n > 0 and sizes[label] % n == 0 for label, n in zip(scaled, shape, strict=True)),
            "scales do not divide a side into whole blocks",
        )
        blocks.append({label: sizes[label] // n for label, n in zip(scaled, shape, strict=True)})
    return ScaledDotDimensions((*sides, *scales), tuple(blocks), tuple(output), sizes)
