"""Semantics of while: condition, body, condition, and so on."""

from __future__ import annotations

from typing import Any

from ..._core import Instruction
from ...lazy import np
from .._evaluation import EvalContext, Steps, Value
from .attributes import condition_and_body


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Iterate until the condition is false; for arrays of conditions, elements that are done keep their values."""
    condition, body = condition_and_body(instruction)
    carried = operands
    while True:
        continues = yield context.call(condition, list(carried))
        if not np.any(continues):
            return carried.pop()
        context.count_steps()
        if np.all(continues):
            carried.append((yield context.call(body, carried)))
        else:
            before = carried[0]
            after = yield context.call(body, list(carried))
            carried[0] = _select(continues, after, before)


def _select(where: Any, after: Value, before: Value) -> Value:
    if isinstance(after, tuple):
        return tuple(_select(where, a, b) for a, b in zip(after, before, strict=True))
    return None if after is None else np.where(where, after, before)
