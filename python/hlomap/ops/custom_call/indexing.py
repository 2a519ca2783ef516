"""Indexing rules of custom-call."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex, Unknown
from .._indexing.maps import forward_from_operand, forward_to_outputs
from .._rule import RuleContext, RuleResult
from .._shapes import n_outputs
from .attributes import is_annotation, target_of


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """An annotation forwards its operand; any other target is unknown."""
    if is_annotation(instruction):
        return forward_from_operand(instruction, leaf, 0, leaf)
    return [Unknown(f"no rule for custom-call to {target_of(instruction)!r}")] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As :func:`output_to_input`."""
    if is_annotation(instruction):
        return forward_to_outputs(instruction, operand, leaf, leaf)
    return [Unknown(f"no rule for custom-call to {target_of(instruction)!r}")] * n_outputs(instruction.shape)
