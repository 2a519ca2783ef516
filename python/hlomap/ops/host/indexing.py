"""The indexing rule of host."""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.maps import passes_from, passes_to
from .._rule import RuleContext, RuleResult


def send_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The first element is the operand itself."""
    return passes_from(instruction, leaf, 0, leaf[1:]) if leaf[0] == 0 else {}


def send_input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    return passes_to(instruction, operand, leaf, *([(0, *leaf)] if operand == 0 else []))
