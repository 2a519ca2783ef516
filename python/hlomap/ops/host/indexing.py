"""The indexing rule of host."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.maps import forward_from_operand, forward_to_outputs
from .._rule import RuleContext, RuleResult


def send_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The first element is the operand itself."""
    return forward_from_operand(instruction, leaf, 0, leaf[1:]) if leaf[0] == 0 else {}


def send_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    return forward_to_outputs(instruction, operand, leaf, *([(0, *leaf)] if operand == 0 else []))
