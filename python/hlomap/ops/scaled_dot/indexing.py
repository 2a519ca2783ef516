"""The indexing rule of scaled-dot."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.contraction import linked
from .._indexing.maps import single_map
from .._rule import RuleContext, RuleResult
from .attributes import scaled_dot_dimensions


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The sides as dot; the factors of their blocks."""
    d = scaled_dot_dimensions(instruction)
    found = []
    for labels, blocks in zip(d.labels, d.blocks, strict=True):
        dims, results, ranges = linked(d.output, labels, d.sizes, target_blocks=blocks)
        found.append(single_map(dims, results, ranges=ranges))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every output of the side's element, or of the block's elements."""
    d = scaled_dot_dimensions(instruction)
    dims, results, ranges = linked(d.labels[operand], d.output, d.sizes, source_blocks=d.blocks[operand])
    return [single_map(dims, results, ranges=ranges)]
