"""The indexing rule of triangular-solve."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, full, reads
from .._rule import ExprLike, RuleContext, RuleResult
from .attributes import plan_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The triangle up to the unknown; of b the same column up to it."""
    plan = plan_of(instruction)
    dims, last = full(plan.sizes), plan.n - 1
    own, other, diagonal = Expr.dim(plan.axis), Expr.range(0), Expr.range(1)
    # Of the triangle's two indices the one nearer to the unknown is `other`, up to the unknown itself.
    until = own - other if plan.forward else other - own
    between = other - diagonal if plan.forward else diagonal - other
    row, column = (other, diagonal) if plan.lower == plan.forward else (diagonal, other)
    batch = dim_exprs(len(plan.sizes) - 2)
    triangle = reads(
        dims,
        [*batch, row, column],
        ranges=[(0, last)] * 2,
        constraints=[(until, 0, last), (between, int(plan.unit), last)],
    )
    results: list[ExprLike] = [*dim_exprs(len(plan.sizes))]
    results[plan.axis] = other
    return [triangle, reads(dims, results, ranges=[(0, last)], constraints=[(until, 0, last)])]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an element to the unknowns that come after it."""
    plan = plan_of(instruction)
    last = plan.n - 1
    if operand == 1:
        results: list[ExprLike] = [*dim_exprs(len(plan.sizes))]
        results[plan.axis] = Expr.range(0)
        after = Expr.range(0) - Expr.dim(plan.axis)
        constraint = (after if plan.forward else -after, 0, last)
        return [reads(full(plan.sizes), results, ranges=[(0, last)], constraints=[constraint])]
    n_batch = len(plan.sizes) - 2
    row, column = Expr.dim(n_batch), Expr.dim(n_batch + 1)
    later, earlier = (row, column) if plan.lower == plan.forward else (column, row)
    after, between = Expr.range(0) - later, later - earlier
    if not plan.forward:
        after, between = -after, -between
    free = len(plan.sizes) - 1 + len(plan.sizes) - 2 - plan.axis
    results = [*dim_exprs(n_batch), 0, 0]
    results[plan.axis], results[free] = Expr.range(0), Expr.range(1)
    return [
        reads(
            full([*plan.sizes[:-2], plan.n, plan.n]),
            results,
            ranges=[(0, last), (0, plan.sizes[free] - 1)],
            constraints=[(after, 0, last), (between, int(plan.unit), last)],
        )
    ]
