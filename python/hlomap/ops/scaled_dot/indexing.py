"""The indexing rule of scaled-dot."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.contraction import linked
from .._indexing.maps import reads
from .._rule import RuleContext, RuleResult
from .attributes import plan_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The sides as dot; the factors of their blocks."""
    plan = plan_of(instruction)
    found = []
    for labels, blocks in zip(plan.labels, plan.blocks, strict=True):
        dims, results, ranges = linked(plan.output, labels, plan.sizes, target_blocks=blocks)
        found.append(reads(dims, results, ranges=ranges))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every output of the side's element, or of the block's elements."""
    plan = plan_of(instruction)
    dims, results, ranges = linked(plan.labels[operand], plan.output, plan.sizes, source_blocks=plan.blocks[operand])
    return [reads(dims, results, ranges=ranges)]
