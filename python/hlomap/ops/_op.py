"""Names for the file of every operation: its rule, the arguments and results of the rule's functions, and traits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

from ..base.types import ShapeIndex as ShapeIndex
from ._evaluation import Array as Array, EvalContext as EvalContext, Evaluate, Steps as Steps, Value as Value
from ._folding import by_moving
from ._known import moved
from ._registry import register as register_rule
from ._rule import InputToOutput, OpRule, OutputToInput, RuleContext as RuleContext, RuleResult as RuleResult

P = ParamSpec("P")


def _registering(make: Callable[P, OpRule]) -> Callable[P, None]:
    return lambda *fields, **traits: register_rule(make(*fields, **traits))


def _moving(
    opcode: str,
    output_to_input: OutputToInput,
    input_to_output: InputToOutput,
    evaluate: Evaluate,
    data: tuple[int, ...] = (),
    **traits: Any,
) -> OpRule:
    op = OpRule(opcode, output_to_input, input_to_output, evaluate, operations="moves", **traits)
    return op._replace(known_values=moved(*data), folds=by_moving(evaluate, data))


register = _registering(OpRule)
"""Registers the op rule with these fields."""

register_moving = _registering(_moving)
"""Registers the rule of an operation whose elements are all elements of the operands ``data`` (none: of any
operand)."""
