"""Indexing rules of sort."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.maps import dim_exprs, on_all_outputs, range_exprs, single_map
from .._rule import Footprint, RuleContext, RuleResult
from .._shapes import result_sizes


def _rows(instruction: Instruction) -> Footprint:
    (along,) = instruction.attributes["dimensions"]
    sizes = result_sizes(instruction)
    results = [*dim_exprs(len(sizes))]
    (results[along],) = range_exprs(1)
    return single_map(sizes, results, ranges=sizes[along : along + 1])


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row of every operand."""
    return [_rows(instruction)] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row of every output."""
    return on_all_outputs(instruction, _rows(instruction))
