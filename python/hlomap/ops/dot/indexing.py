"""Indexing rules of dot."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex, Unknown
from .._indexing.maps import full_bounds, single_map
from .._rule import ExprLike, OperandIndexing, RuleContext, RuleResult
from .attributes import dot_dimensions


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """A range for each contracted dimension, shared by both operands."""
    if len(instruction.operands) != 2:
        return [Unknown("dot with sparsity metadata")] * len(instruction.operands)
    left, right = dot_dimensions(instruction)
    parts: list[OperandIndexing] = []
    for side, first_free in ((left, len(left.batch)), (right, len(left.batch) + len(left.free))):
        results: list[ExprLike] = [0] * len(side.sizes)
        for i, dim in enumerate(side.batch):
            results[dim] = Expr.dim(i)
        for i, dim in enumerate(side.free):
            results[dim] = Expr.dim(first_free + i)
        for i, dim in enumerate(side.contracted):
            results[dim] = Expr.range(i)
        parts.append(
            single_map(
                full_bounds(instruction.shape.dimensions),
                results,
                ranges=full_bounds(side.sizes[i] for i in side.contracted),
            )
        )
    return parts


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """A range for each free dimension of the other operand."""
    if len(instruction.operands) != 2:
        return [Unknown("dot with sparsity metadata")]
    left, right = dot_dimensions(instruction)
    side, other = (left, right) if operand == 0 else (right, left)
    own: list[ExprLike] = [Expr.dim(i) for i in side.free]
    others: list[ExprLike] = [Expr.range(i) for i in range(len(other.free))]
    results = [*(Expr.dim(i) for i in side.batch), *(own + others if operand == 0 else others + own)]
    return [single_map(full_bounds(side.sizes), results, ranges=full_bounds(other.sizes[i] for i in other.free))]
