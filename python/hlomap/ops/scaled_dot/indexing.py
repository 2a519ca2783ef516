"""Indexing rules of scaled-dot."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.contraction import map_by_labels
from .._indexing.maps import single_map
from .._rule import RuleContext, RuleResult
from .attributes import scaled_dot_dimensions


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The sides as in a dot, and the scales of the blocks."""
    d = scaled_dot_dimensions(instruction)
    found = []
    for labels, blocks in zip(d.labels, d.blocks, strict=True):
        dims, results, ranges = map_by_labels(d.output, labels, d.sizes, target_blocks=blocks)
        found.append(single_map(dims, results, ranges=ranges))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every output that the element, or an element of its block, contributes to."""
    d = scaled_dot_dimensions(instruction)
    dims, results, ranges = map_by_labels(d.labels[operand], d.output, d.sizes, source_blocks=d.blocks[operand])
    return [single_map(dims, results, ranges=ranges)]
