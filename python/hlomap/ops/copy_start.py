"""copy-start: the copy, the operand and the state of the transfer."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import forward_from_operand, forward_to_outputs
from ._operations import moves_elements
from ._registry import register
from ._rule import NOTHING, InPlace, OpRule, RuleContext, RuleResult
from ._shapes import n_outputs


def _copy_start_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The copy and the operand itself; the third element is the state of the transfer."""
    return forward_from_operand(instruction, leaf, 0, leaf[1:]) if leaf[0] < 2 else [NOTHING]


def _copy_start_input_to_output(
    instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext
) -> RuleResult:
    return forward_to_outputs(instruction, operand, leaf, (0, *leaf), (1, *leaf))


def _copy_start(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    return (operands[0], operands[0], *([None] * (n_outputs(instruction.shape) - 2)))


register(
    OpRule(
        "copy-start",
        _copy_start_output_to_input,
        _copy_start_input_to_output,
        _copy_start,
        in_place=lambda instruction: {(1,): InPlace(0, replaces=False)},
        operations=moves_elements,
    )
)
