"""Dimensions and flags of a triangular-solve."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core import Instruction
from .._shapes import require, require_sizes


@dataclass(frozen=True)
class TriangularSolve:
    """``axis`` is the dimension of b along the unknowns; ``forward``: each unknown depends on those before it."""

    sizes: tuple[int, ...]
    n: int
    axis: int
    lower: bool
    forward: bool
    unit: bool


def triangular_solve_attributes(instruction: Instruction) -> TriangularSolve:
    """The attributes, checked against operands and output."""
    attributes = instruction.attributes
    a, b = (tuple(x.shape.dimensions) for x in instruction.operands)
    left, lower = (bool(attributes.get(name, False)) for name in ("left_side", "lower"))
    require(len(a) == len(b) >= 2 and a[-1] == a[-2], "expected square matrices a, and b of the same rank")
    require_sizes(instruction.shape.dimensions, b, "the output")
    axis = len(b) - (2 if left else 1)
    require_sizes([*a[:-2], a[-1]], [*b[:-2], b[axis]], "the matrices a")
    transposed = attributes.get("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"
    # A lower triangle on the left is solved forward; a transpose reverses the direction, and so does the right side.
    forward = lower ^ transposed ^ (not left)
    return TriangularSolve(b, b[axis], axis, lower, forward, bool(attributes.get("unit_diagonal", False)))
