"""Indexing rules of the asynchronous forms of an operation, derived from its own rule."""

from __future__ import annotations

from collections.abc import Mapping

from ..._core import Instruction
from ...errors import HlomapError
from ...types import ShapeIndex, Unknown
from .._indexing.maps import forward_from_operand, forward_to_outputs, merge_parts
from .._rule import (
    NOTHING,
    CollectiveRule,
    InputToOutput,
    OperandIndexing,
    OpRule,
    OutputToInput,
    RuleContext,
    RuleResult,
)
from .attributes import as_synchronous


def start_rules(opcode: str, op: OpRule) -> tuple[OutputToInput, InputToOutput]:
    """Element 0 of the output holds the operands, element 1 the result; the rest is the state of the operation."""

    def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if leaf[0] == 0:
            return forward_from_operand(instruction, leaf, leaf[1], leaf[2:])
        if leaf[0] == 1:
            return op.output_to_input(as_synchronous(instruction), leaf[1:], context)
        return [NOTHING] * len(instruction.operands)

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        parts = forward_to_outputs(instruction, operand, leaf, (0, operand, *leaf))
        try:
            result = op.input_to_output(as_synchronous(instruction), operand, leaf, context)
            parts[1] = merge_parts(result, (1,))
        except HlomapError as error:  # the forwarded operands are known all the same
            parts[1] = Unknown(f"{opcode}: {error}")
        return parts

    return output_to_input, input_to_output


def start_collective(rule: CollectiveRule) -> CollectiveRule:
    """The same groups; the forwarded operands stay on their device."""

    def output_to_input(instruction: Instruction, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
        if leaf[0] == 1:
            return rule.output_to_input(as_synchronous(instruction), leaf[1:])
        return forward_from_operand(instruction, leaf, leaf[1], leaf[2:]) if leaf[0] == 0 else {}

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
        forwarded = dict(enumerate(forward_to_outputs(instruction, operand, leaf, (0, operand, *leaf))))
        return {**forwarded, 1: merge_parts(rule.input_to_output(as_synchronous(instruction), operand, leaf), (1,))}

    return CollectiveRule(
        lambda instruction: rule.groups(as_synchronous(instruction)), output_to_input, input_to_output
    )


def forwarding_rules(source: ShapeIndex) -> tuple[OutputToInput, InputToOutput]:
    """The output is the element ``source`` of operand 0."""

    def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        return forward_from_operand(instruction, leaf, 0, source + leaf)

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if leaf[: len(source)] != source:
            return forward_to_outputs(instruction, operand, leaf)
        return forward_to_outputs(instruction, operand, leaf, leaf[len(source) :])

    return output_to_input, input_to_output
