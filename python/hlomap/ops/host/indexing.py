"""Indexing rules of send; the other operations read no array of the module."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.maps import forward_from_operand, forward_to_outputs
from .._rule import RuleContext, RuleResult


def send_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Element 0 of the output is the operand; the others are the state of the transfer."""
    return forward_from_operand(instruction, leaf, 0, leaf[1:]) if leaf[0] == 0 else {}


def send_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The operand is element 0 of the output; the token is not forwarded."""
    return forward_to_outputs(instruction, operand, leaf, *([(0, *leaf)] if operand == 0 else []))
