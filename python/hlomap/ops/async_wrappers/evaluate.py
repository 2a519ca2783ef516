"""Semantics of the asynchronous forms of an operation, which run it at its start."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ..._core import Instruction
from ...types import ShapeIndex
from .._evaluation import EvalContext, Evaluate, Value
from .._shapes import n_outputs
from .attributes import as_synchronous


def evaluate_start(evaluate: Evaluate) -> Evaluate:
    """The operands, the result, and no state."""

    def evaluate_start(instruction: Instruction, operands: list[Value], context: EvalContext) -> Any:
        forwarded = tuple(operands)
        state = (None,) * (n_outputs(instruction.shape) - 2)
        value = evaluate(as_synchronous(instruction), operands, context)
        if isinstance(value, Generator):
            value = yield from value
        return (forwarded, value, *state)

    return evaluate_start


def evaluate_forwarding(source: ShapeIndex) -> Evaluate:
    """The element ``source`` of operand 0."""

    def evaluate_forwarding(instruction: Instruction, operands: list[Value], context: EvalContext) -> Value:
        value = operands[0]
        for i in source:
            value = value[i]
        return value

    return evaluate_forwarding
