"""copy-start and async-start: a tuple of the operands and the result, a copy or the value of a called computation.

Section AsyncStart of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Steps, Value
from ._indexing.maps import forward_from_operand, forward_to_outputs, merge_parts
from ._registry import register
from ._rule import NOTHING, OperandIndexing, OpRule, RuleContext, RuleResult
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


def _async_start_output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    if leaf[0] == 0:
        return forward_from_operand(instruction, leaf, leaf[1], leaf[2:])
    if leaf[0] == 1 and instruction.called_computations:
        return context.output_to_input(instruction, instruction.called_computations[0], leaf[1:])
    return [NOTHING] * len(instruction.operands)


def _async_start_input_to_output(
    instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext
) -> RuleResult:
    parts: list[OperandIndexing] = forward_to_outputs(instruction, operand, leaf, (0, operand, *leaf))
    parts[1] = merge_parts(
        context.input_to_output(instruction, instruction.called_computations[0], operand, leaf), (1,)
    )
    return parts


def _async_start(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    forwarded = tuple(operands)
    state = [None] * (n_outputs(instruction.shape) - 2)
    return (forwarded, (yield context.call(instruction.called_computations[0], operands)), *state)


register(OpRule("copy-start", _copy_start_output_to_input, _copy_start_input_to_output, _copy_start))
register(
    OpRule(
        "async-start",
        _async_start_output_to_input,
        _async_start_input_to_output,
        _async_start,
        depends_on_called_values=True,
        forwards_calls=True,
        operand_of_parameter=lambda instruction, called, parameter: parameter,
    )
)
