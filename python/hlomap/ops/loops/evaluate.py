"""while in NumPy: condition, body, condition."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Steps, Value
from .attributes import condition_and_body


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Condition, body, condition; where values are whole arrays, places that are done keep theirs."""
    condition, body = condition_and_body(instruction)
    carried = operands
    while True:
        goes_on = yield context.call(condition, list(carried))
        if not np.any(goes_on):
            return carried.pop()
        context.count_iteration(instruction)
        if np.all(goes_on):
            carried.append((yield context.call(body, carried)))
        else:
            before = carried[0]
            after = yield context.call(body, list(carried))
            carried[0] = _chosen(goes_on, after, before)


def _chosen(where: Any, after: Value, before: Value) -> Value:
    if isinstance(after, tuple):
        return tuple(_chosen(where, a, b) for a, b in zip(after, before, strict=True))
    return None if after is None else np.where(where, after, before)
