"""Indexing rules of cholesky."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, full_bounds, single_map
from .._rule import ExprLike, Footprint, RuleContext, RuleResult
from .._shapes import require, require_sizes

_REASON = "cholesky: every element depends on whether the matrix is positive definite"


def _sizes(instruction: Instruction) -> tuple[int, ...]:
    sizes = tuple(instruction.shape.dimensions)
    require(len(sizes) >= 2 and sizes[-1] == sizes[-2], "expected square matrices")
    require_sizes(instruction.operands[0].shape.dimensions, sizes, "the operand")
    return sizes


def _overapproximate(footprint: Footprint) -> Footprint:
    return Footprint(footprint.maps, False, _REASON)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The triangle of the same matrix."""
    sizes = _sizes(instruction)
    row, column = Expr.range(0), Expr.range(1)
    below = row - column if bool(instruction.attributes.get("lower", False)) else column - row
    results: list[ExprLike] = [*dim_exprs(len(sizes) - 2), row, column]
    triangle = single_map(
        full_bounds(sizes), results, ranges=full_bounds(sizes[-2:]), constraints=[(below, 0, sizes[-1] - 1)]
    )
    return [_overapproximate(triangle)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From the triangle to the whole output."""
    sizes = _sizes(instruction)
    row, column = dim_exprs(len(sizes))[-2:]
    below = row - column if bool(instruction.attributes.get("lower", False)) else column - row
    results: list[ExprLike] = [*dim_exprs(len(sizes) - 2), Expr.range(0), Expr.range(1)]
    triangle = single_map(
        full_bounds(sizes), results, ranges=full_bounds(sizes[-2:]), constraints=[(below, 0, sizes[-1] - 1)]
    )
    return [_overapproximate(triangle)]
