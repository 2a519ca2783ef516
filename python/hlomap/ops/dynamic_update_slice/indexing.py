"""Indexing rules of dynamic-update-slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.dynamic_offsets import Offset, clamped_offsets, offset_exprs, offset_reaches, reads_offsets
from .._indexing.maps import full_bounds, single_map
from .._rule import NOTHING, Bounds, ExprLike, Footprint, RuleContext, RuleResult
from .._shapes import require_sizes


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The offsets: constants are folded."""
    return tuple(range(2, len(instruction.operands)))


def _window(instruction: Instruction) -> tuple[Sequence[int], Sequence[int], list[Offset]]:
    sizes, window = instruction.shape.dimensions, instruction.operands[1].shape.dimensions
    require_sizes(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return sizes, window, clamped_offsets(instruction, 2, sizes, window)


def _outside(instruction: Instruction) -> Footprint:
    """The identity outside the window."""
    sizes, window, offsets = _window(instruction)
    outside = NOTHING
    # A dimension that the window fills has no outside, and needs no constraint for the inside.
    open_dims = [i for i in range(len(sizes)) if window[i] < sizes[i]]
    for n, i in enumerate(open_dims):
        inside = {j: (0, window[j] - 1) for j in open_dims[:n]}
        outside = outside + _region(sizes, offsets, inside | {i: (window[i] - sizes[i], -1)})
        outside = outside + _region(sizes, offsets, inside | {i: (window[i], sizes[i] - 1)})
    return outside


def _region(
    sizes: Sequence[int], offsets: Sequence[Offset], distances: Mapping[int, Bounds], *, in_window: bool = False
) -> Footprint:
    """From the output elements whose distances from the offset lie in the intervals ``distances``, by dimension.

    The results are the index of the output element itself, or with ``in_window`` its index in the window.
    """
    start_of, runtime = offset_exprs(offsets, distances)
    dims = full_bounds(sizes)
    constraints: list[tuple[ExprLike, int, int]] = []
    for i, (lower, upper) in distances.items():
        start = start_of[i]
        if isinstance(start, int):
            dims[i] = (max(0, start + lower), min(sizes[i] - 1, start + upper))
        else:
            constraints.append((Expr.dim(i) - start, lower, upper))
    results: list[ExprLike] = [Expr.dim(i) - start_of[i] if in_window else Expr.dim(i) for i in range(len(sizes))]
    return single_map(dims, results, runtime=runtime, constraints=constraints)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d] outside the window, update[d - offset] inside, and all offsets."""
    sizes, window, offsets = _window(instruction)
    update = _region(sizes, offsets, {i: (0, n - 1) for i, n in enumerate(window)}, in_window=True)
    return [_outside(instruction), update, *reads_offsets(instruction, 2)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[d] outside the window, output[d + offset] for the update; an offset affects every element."""
    if operand == 0:
        return [_outside(instruction)]
    if operand > 1:
        return [offset_reaches(instruction, operand)]
    sizes, window, offsets = _window(instruction)
    start_of, runtime = offset_exprs(offsets, range(len(sizes)))
    return [single_map(full_bounds(window), [Expr.dim(i) + start_of[i] for i in range(len(sizes))], runtime=runtime)]
