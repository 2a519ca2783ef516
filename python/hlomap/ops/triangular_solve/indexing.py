"""Indexing rules of triangular-solve."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, full_bounds, single_map
from .._rule import ExprLike, RuleContext, RuleResult
from .attributes import triangular_solve_attributes


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The part of the triangle up to the unknown, and the same column of b up to it."""
    solve = triangular_solve_attributes(instruction)
    dims, last = full_bounds(solve.sizes), solve.n - 1
    own, other, diagonal = Expr.dim(solve.axis), Expr.range(0), Expr.range(1)
    # Of the two indices of the triangle, `other` is the one nearer to the unknown, at most the unknown itself.
    until = own - other if solve.forward else other - own
    between = other - diagonal if solve.forward else diagonal - other
    row, column = (other, diagonal) if solve.lower == solve.forward else (diagonal, other)
    batch = dim_exprs(len(solve.sizes) - 2)
    triangle = single_map(
        dims,
        [*batch, row, column],
        ranges=[(0, last)] * 2,
        constraints=[(until, 0, last), (between, int(solve.unit), last)],
    )
    results: list[ExprLike] = [*dim_exprs(len(solve.sizes))]
    results[solve.axis] = other
    return [triangle, single_map(dims, results, ranges=[(0, last)], constraints=[(until, 0, last)])]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an element to the unknowns that are solved with it or after it."""
    solve = triangular_solve_attributes(instruction)
    last = solve.n - 1
    if operand == 1:
        results: list[ExprLike] = [*dim_exprs(len(solve.sizes))]
        results[solve.axis] = Expr.range(0)
        after = Expr.range(0) - Expr.dim(solve.axis)
        constraint = (after if solve.forward else -after, 0, last)
        return [single_map(full_bounds(solve.sizes), results, ranges=[(0, last)], constraints=[constraint])]
    n_batch = len(solve.sizes) - 2
    row, column = Expr.dim(n_batch), Expr.dim(n_batch + 1)
    later, earlier = (row, column) if solve.lower == solve.forward else (column, row)
    after, between = Expr.range(0) - later, later - earlier
    if not solve.forward:
        after, between = -after, -between
    free = len(solve.sizes) - 1 + len(solve.sizes) - 2 - solve.axis
    results = [*dim_exprs(n_batch), 0, 0]
    results[solve.axis], results[free] = Expr.range(0), Expr.range(1)
    return [
        single_map(
            full_bounds([*solve.sizes[:-2], solve.n, solve.n]),
            results,
            ranges=[(0, last), (0, solve.sizes[free] - 1)],
            constraints=[(after, 0, last), (between, int(solve.unit), last)],
        )
    ]
