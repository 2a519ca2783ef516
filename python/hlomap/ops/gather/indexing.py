"""The indexing rule of gather."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._gather_windows import Windows, from_window, to_windows
from .._indexing.maps import full, reads
from .._rule import ExprLike, Footprint, RuleContext, RuleResult
from .attributes import plan_of


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded, with the clamp."""
    return (1,)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Offset + start; the whole index vector."""
    w = plan_of(instruction)
    index: list[ExprLike] = [Expr.dim(o) for _, o in sorted(w.vector.items())]
    in_vector = []
    if w.vector_dim < len(w.indices):
        index.insert(w.vector_dim, Expr.range(0))
        in_vector = [(0, len(w.starts) - 1)]
    return [from_window(instruction, w), reads(full(w.beside), index, ranges=in_vector)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """d - start where that is inside the slice, for every vector; an index moves its whole slice."""
    w = plan_of(instruction)
    return [to_windows(instruction, w) if operand == 0 else _slice_of_a_vector(w)]


def _slice_of_a_vector(w: Windows) -> Footprint:
    results: list[ExprLike] = [0] * len(w.beside)
    for i, o in w.vector.items():
        results[o] = Expr.dim(i)
    places = sorted(w.window.values())
    for n, o in enumerate(places):
        results[o] = Expr.range(n)
    return reads(full(w.indices), results, ranges=full(w.beside[o] for o in places))
