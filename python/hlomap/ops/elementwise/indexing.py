"""Indexing rules of elementwise operations."""

from __future__ import annotations

from ..._core import Instruction
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.maps import forward_from_operand, forward_to_outputs, identity_map, map_to_all, map_to_scalar
from .._rule import OperandIndexing, RuleContext, RuleResult


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The element with the same index of each operand, or the scalar; a copy of a tuple leaf by leaf."""
    if instruction.shape.is_tuple:
        return forward_from_operand(instruction, leaf, 0, leaf)
    sizes = instruction.shape.dimensions
    return [_operand_map(sizes, operand.shape.dimensions) for operand in instruction.operands]


def _operand_map(sizes: tuple[int, ...], operand: tuple[int, ...]) -> OperandIndexing:
    if operand == sizes:
        return identity_map(sizes)
    if not operand:
        return map_to_scalar(sizes)
    return Unknown(f"an elementwise operand of sizes {operand} for an output of sizes {sizes}")


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The output element with the same index; every element for a scalar."""
    if instruction.shape.is_tuple:
        return forward_to_outputs(instruction, operand, leaf, leaf)
    sizes = instruction.shape.dimensions
    source = instruction.operands[operand].shape.dimensions
    if source == sizes:
        return [identity_map(sizes)]
    if not source:
        return [map_to_all((), sizes)]
    return [Unknown(f"an elementwise operand of sizes {source} for an output of sizes {sizes}")]
