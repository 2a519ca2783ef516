"""Indexing rules of sort."""

from __future__ import annotations

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, full_bounds, on_all_outputs, single_map
from .._rule import ExprLike, Footprint, RuleContext, RuleResult
from .._shapes import require, require_sizes, result_sizes


def _along(instruction: Instruction) -> int:
    (along,) = instruction.attributes["dimensions"]
    sizes = result_sizes(instruction)
    require(0 <= along < len(sizes), f"dimension {along} is out of range")
    for operand in instruction.operands:
        require_sizes(operand.shape.dimensions, sizes, "an operand")
    return int(along)


def _rows(instruction: Instruction) -> Footprint:
    along, sizes = _along(instruction), result_sizes(instruction)
    results: list[ExprLike] = [*dim_exprs(len(sizes))]
    results[along] = Expr.range(0)
    return single_map(full_bounds(sizes), results, ranges=[(0, sizes[along] - 1)])


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row of every operand."""
    return [_rows(instruction)] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row of every output."""
    return on_all_outputs(instruction, _rows(instruction))
