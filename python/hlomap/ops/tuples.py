"""tuple and get-tuple-element: values are put side by side and taken out again; no element moves."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._op import Answer, Context, Leaf, Op, Run, Value, passes_from, passes_to, register


def _tuple_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    return passes_from(instruction, leaf, leaf[0], leaf[1:])


def _tuple_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    return passes_to(instruction, operand, leaf, (operand, *leaf))


def _tuple(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    return tuple(operands)


def _element_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    return passes_from(instruction, leaf, 0, (int(instruction.attributes["index"]), *leaf))


def _element_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    if leaf[0] != int(instruction.attributes["index"]):
        return passes_to(instruction, operand, leaf)
    return passes_to(instruction, operand, leaf, leaf[1:])


def _element(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    return operands[0][int(instruction.attributes["index"])]


register(Op("tuple", _tuple_output_to_input, _tuple_input_to_output, _tuple, pointwise=True))
register(Op("get-tuple-element", _element_output_to_input, _element_input_to_output, _element, pointwise=True))
