"""cholesky in NumPy: column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Value


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Column by column, all matrices at once."""
    given = np.asarray(operands[0])
    lower = bool(instruction.attributes.get("lower", False))
    a = given if lower else np.conj(np.swapaxes(given, -1, -2))
    made = np.zeros_like(a)
    for j in range(a.shape[-1]):
        done = made[..., :j]
        rest = a[..., j:, j] - np.einsum("...ik,...k->...i", done[..., j:, :], np.conj(done[..., j, :]))
        pivot = np.sqrt(rest[..., :1].real)
        made[..., j:, j] = rest / pivot
        made[..., j, j] = pivot[..., 0]
    failed = np.isnan(made).any(axis=(-1, -2), keepdims=True)
    made = np.where(failed, np.array(np.nan, made.dtype), made)
    return made if lower else np.conj(np.swapaxes(made, -1, -2))
