"""The indexing rule of dynamic-sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.delinearize import delinearize
from .._indexing.maps import (
    dim_exprs,
    full_bounds,
    identity_map,
    map_to_all,
    map_to_scalar,
    single_map,
)
from .._rule import Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import n_elements, require_sizes


def set_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The same place, and the size."""
    sizes = instruction.shape.dimensions
    require_sizes(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return [identity_map(sizes), map_to_scalar(sizes)]


def set_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The same place; the size reaches everything."""
    sizes = instruction.shape.dimensions
    return [map_to_all((), sizes) if operand == 1 else identity_map(sizes)]


def _between(source: Sequence[int], target: Sequence[int]) -> OperandIndexing:
    """From target to source.  Of rows in use a later row begins earlier than at the bounds, so any may be meant."""
    rows = (sum(size != 1 for size in sizes) > 1 for sizes in (source, target))
    if n_elements(source) == n_elements(target) and not any(rows):
        part = single_map(full_bounds(target), delinearize(dim_exprs(len(target)), target, source))
        return Footprint(part.maps, False, "sizes are values")
    return Footprint(map_to_all(target, source).maps, False, "sizes are values")


def reshape_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    sizes = instruction.shape.dimensions
    data = _between(instruction.operands[0].shape.dimensions, sizes)
    return [data, *([map_to_scalar(sizes)] * (len(instruction.operands) - 1))]


def reshape_input_to_output(
    instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext
) -> RuleResult:
    sizes = instruction.shape.dimensions
    if operand > 0:
        return [map_to_all((), sizes)]
    return [_between(sizes, instruction.operands[0].shape.dimensions)]
