"""What the file of every operation names: its rule, what the functions of the rule take and return, and traits."""

from __future__ import annotations

from typing import Any

from ..types import ShapeIndex as ShapeIndex
from ._evaluation import Array as Array, EvalContext as EvalContext, Evaluate, Steps as Steps, Value as Value
from ._known import moved
from ._registry import register as register
from ._rule import InputToOutput, OpRule as OpRule, OutputToInput, RuleContext as RuleContext, RuleResult as RuleResult


def moving(
    opcode: str,
    output_to_input: OutputToInput,
    input_to_output: InputToOutput,
    evaluate: Evaluate,
    data: tuple[int, ...] = (),
    **traits: Any,
) -> OpRule:
    """The rule of an operation of which every element is one of the operands ``data`` (none: of any operand)."""
    op = OpRule(opcode, output_to_input, input_to_output, evaluate, operations="moves", **traits)
    return op._replace(known_values=moved(*data))
