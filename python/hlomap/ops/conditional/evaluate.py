"""conditional in NumPy: the branch that the index says."""

from __future__ import annotations

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Steps, Value
from .attributes import branch_computations


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Run the branch; where the index is a whole array, run those that it names and choose place by place."""
    branches = branch_computations(instruction)
    index = np.asarray(operands[0])
    chosen = np.where(index, 0, 1) if index.dtype == np.bool_ else _in_range(index, len(branches))
    which = sorted(set(chosen.reshape(-1).tolist()))
    given = operands[1:]
    operands.clear()
    if len(which) == 1:
        argument = [given[which[0]]]
        given.clear()
        return (yield context.call(branches[which[0]], argument))
    value: Value = None
    for number in which:
        new = yield context.call(branches[number], [given[number]])
        value = new if value is None else _where(chosen == number, new, value)
    return value


def _in_range(index: np.ndarray, n: int) -> np.ndarray:
    return np.where((index < 0) | (index >= n), n - 1, index)


def _where(here: np.ndarray, new: Value, old: Value) -> Value:
    if isinstance(new, tuple):
        return tuple(_where(here, a, b) for a, b in zip(new, old, strict=True))
    return None if new is None else np.where(here, new, old)
