"""The indexing rule of gather."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._attributes import GatherDimensions
from .._indexing.gather_windows import operand_to_windows, window_to_operand
from .._indexing.maps import full, reads
from .._rule import ExprLike, Footprint, RuleContext, RuleResult
from .attributes import plan_of


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded, with the clamp."""
    return (1,)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Offset + start; the whole index vector."""
    w = plan_of(instruction)
    index: list[ExprLike] = [Expr.dim(o) for _, o in sorted(w.batch_dims.items())]
    in_vector = []
    if w.index_vector_dim < len(w.indices_sizes):
        index.insert(w.index_vector_dim, Expr.range(0))
        in_vector = [(0, len(w.start_components) - 1)]
    return [window_to_operand(instruction, w), reads(full(w.output_sizes), index, ranges=in_vector)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """d - start where that is inside the slice, for every vector; an index moves its whole slice."""
    w = plan_of(instruction)
    return [operand_to_windows(instruction, w) if operand == 0 else _slice_of_a_vector(w)]


def _slice_of_a_vector(w: GatherDimensions) -> Footprint:
    results: list[ExprLike] = [0] * len(w.output_sizes)
    for i, o in w.batch_dims.items():
        results[o] = Expr.dim(i)
    places = sorted(w.window_dims.values())
    for n, o in enumerate(places):
        results[o] = Expr.range(n)
    return reads(full(w.indices_sizes), results, ranges=full(w.output_sizes[o] for o in places))
