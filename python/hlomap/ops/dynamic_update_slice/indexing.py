"""The indexing rule of dynamic-update-slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.dynamic_offsets import Offset, clamped_offsets, offset_exprs, offset_reaches, reads_offsets
from .._indexing.maps import full_bounds, single_map
from .._rule import NOTHING, Bounds, ExprLike, Footprint, RuleContext, RuleResult
from .._shapes import require_sizes


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The offsets: where they are constants, they are folded."""
    return tuple(range(2, len(instruction.operands)))


def _window(instruction: Instruction) -> tuple[Sequence[int], Sequence[int], list[Offset]]:
    sizes, window = instruction.shape.dimensions, instruction.operands[1].shape.dimensions
    require_sizes(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return sizes, window, clamped_offsets(instruction, 2, sizes, window)


def _outside(instruction: Instruction) -> Footprint:
    sizes, window, at = _window(instruction)
    kept = NOTHING
    # Along a dimension that the window fills there is no outside, and to be inside says nothing.
    open_dims = [i for i in range(len(sizes)) if window[i] < sizes[i]]
    for n, i in enumerate(open_dims):
        inside = {j: (0, window[j] - 1) for j in open_dims[:n]}
        kept = kept + _region(sizes, at, inside | {i: (window[i] - sizes[i], -1)})
        kept = kept + _region(sizes, at, inside | {i: (window[i], sizes[i] - 1)})
    return kept


def _region(
    sizes: Sequence[int], at: Sequence[Offset], distances: Mapping[int, Bounds], *, in_window: bool = False
) -> Footprint:
    """The places whose distances to the offset lie in the intervals; ``in_window``: to these distances."""
    begin, runtime = offset_exprs(at, distances)
    dims = full_bounds(sizes)
    constraints: list[tuple[ExprLike, int, int]] = []
    for i, (lower, upper) in distances.items():
        start = begin[i]
        if isinstance(start, int):
            dims[i] = (max(0, start + lower), min(sizes[i] - 1, start + upper))
        else:
            constraints.append((Expr.dim(i) - start, lower, upper))
    own: list[ExprLike] = [Expr.dim(i) - begin[i] if in_window else Expr.dim(i) for i in range(len(sizes))]
    return single_map(dims, own, runtime=runtime, constraints=constraints)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The operand outside the window, the update at d - offset inside."""
    sizes, window, at = _window(instruction)
    update = _region(sizes, at, {i: (0, n - 1) for i, n in enumerate(window)}, in_window=True)
    return [_outside(instruction), update, *reads_offsets(instruction, 2)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The operand stays where it is, the update moves by the offset; an offset reaches everything."""
    if operand == 0:
        return [_outside(instruction)]
    if operand > 1:
        return [offset_reaches(instruction, operand)]
    sizes, window, at = _window(instruction)
    begin, runtime = offset_exprs(at, range(len(sizes)))
    return [single_map(full_bounds(window), [Expr.dim(i) + begin[i] for i in range(len(sizes))], runtime=runtime)]
