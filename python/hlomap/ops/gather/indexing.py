"""Indexing rules of gather."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._attributes import GatherDimensions
from .._indexing.gather_windows import operand_to_windows, window_to_operand
from .._indexing.maps import dim_exprs, full_bounds, single_map
from .._rule import ExprLike, Footprint, RuleContext, RuleResult
from .attributes import gather_dimensions


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The indices: constants and iotas are folded, including the clamp."""
    return (1,)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[start + offset], and the whole index vector."""
    d = gather_dimensions(instruction)
    dims = dim_exprs(len(d.output_sizes))
    index = [dims[o] for _, o in sorted(d.batch_dims.items())]
    in_vector = []
    if d.index_vector_dim < len(d.indices_sizes):
        index.insert(d.index_vector_dim, Expr.range(0))
        in_vector = [(0, len(d.start_components) - 1)]
    return [window_to_operand(instruction, d, context), single_map(d.output_sizes, index, ranges=in_vector)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The offset d - start in every slice that contains d; an index affects its whole slice."""
    d = gather_dimensions(instruction)
    return [operand_to_windows(instruction, d, context) if operand == 0 else _slice_of_vector(d)]


def _slice_of_vector(d: GatherDimensions) -> Footprint:
    """From an element of the indices to all elements of its slice in the output."""
    results: list[ExprLike] = [0] * len(d.output_sizes)
    for i, o in d.batch_dims.items():
        results[o] = Expr.dim(i)
    offset_dims = sorted(d.window_dims.values())
    for n, o in enumerate(offset_dims):
        results[o] = Expr.range(n)
    return single_map(full_bounds(d.indices_sizes), results, ranges=full_bounds(d.output_sizes[o] for o in offset_dims))
