"""Indexing rules of elementwise operations."""

from __future__ import annotations

from ..._core import Instruction
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.maps import forward_from_operand, forward_to_outputs, identity_map, map_to_all
from .._rule import OperandIndexing, RuleContext, RuleResult


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The element with the same index of each operand, or the scalar; a copy of a tuple leaf by leaf."""
    if instruction.shape.is_tuple:
        return forward_from_operand(instruction, leaf, 0, leaf)
    return [_between(instruction.shape.dimensions, operand.shape.dimensions) for operand in instruction.operands]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The output element with the same index; every element for a scalar."""
    if instruction.shape.is_tuple:
        return forward_to_outputs(instruction, operand, leaf, leaf)
    return [_between(instruction.operands[operand].shape.dimensions, instruction.shape.dimensions)]


def _between(source: tuple[int, ...], target: tuple[int, ...]) -> OperandIndexing:
    if source == target:
        return identity_map(source)
    if source and target:
        return Unknown(f"an elementwise operation on sizes {source} and {target}")
    return map_to_all(source, target)
