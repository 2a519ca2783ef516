"""Semantics of conditional: call the selected branch."""

from __future__ import annotations

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Steps, Value
from .attributes import branch_computations


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Call the selected branch; for an array of indices, call every selected branch and combine elementwise."""
    branches = branch_computations(instruction)
    index = np.asarray(operands[0])
    branch_of = np.where(index, 0, 1) if index.dtype == np.bool_ else _in_range(index, len(branches))
    selected = sorted(set(branch_of.reshape(-1).tolist()))
    arguments = operands[1:]
    operands.clear()
    if len(selected) == 1:
        argument = [arguments[selected[0]]]
        arguments.clear()
        return (yield context.call(branches[selected[0]], argument))
    value: Value = None
    for number in selected:
        new = yield context.call(branches[number], [arguments[number]])
        value = new if value is None else _where(branch_of == number, new, value)
    return value


def _in_range(index: np.ndarray, n: int) -> np.ndarray:
    return np.where((index < 0) | (index >= n), n - 1, index)


def _where(here: np.ndarray, new: Value, old: Value) -> Value:
    if isinstance(new, tuple):
        return tuple(_where(here, a, b) for a, b in zip(new, old, strict=True))
    return None if new is None else np.where(here, new, old)
