"""The indexing rule of dynamic-sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.delinearize import reindexed
from .._indexing.maps import (
    dim_exprs,
    full,
    reads,
    reads_all,
    reads_same_place,
    reads_scalar,
)
from .._rule import Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import agree, n_elements


def set_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The same place, and the size."""
    sizes = instruction.shape.dimensions
    agree(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return [reads_same_place(sizes), reads_scalar(sizes)]


def set_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The same place; the size reaches everything."""
    sizes = instruction.shape.dimensions
    return [reads_all((), sizes) if operand == 1 else reads_same_place(sizes)]


def _between(source: Sequence[int], target: Sequence[int]) -> OperandIndexing:
    """From target to source.  Of rows in use a later row begins earlier than at the bounds, so any may be meant."""
    rows = (sum(size != 1 for size in sizes) > 1 for sizes in (source, target))
    if n_elements(source) == n_elements(target) and not any(rows):
        part = reads(full(target), reindexed(dim_exprs(len(target)), target, source))
        return Footprint(part.maps, False, "sizes are values")
    return Footprint(reads_all(target, source).maps, False, "sizes are values")


def reshape_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    sizes = instruction.shape.dimensions
    data = _between(instruction.operands[0].shape.dimensions, sizes)
    return [data, *([reads_scalar(sizes)] * (len(instruction.operands) - 1))]


def reshape_input_to_output(
    instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext
) -> RuleResult:
    sizes = instruction.shape.dimensions
    if operand > 0:
        return [reads_all((), sizes)]
    return [_between(sizes, instruction.operands[0].shape.dimensions)]
