"""Semantics of cholesky: column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Value
from .._numpy.numeric import accumulated


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The Cholesky-Banachiewicz algorithm by columns, for all matrices at once."""
    # Small floats are rounded once, at the end.
    operand = np.asarray(operands[0]).astype(accumulated(operands[0].dtype), copy=False)
    lower = bool(instruction.attributes.get("lower", False))
    a = operand if lower else np.conj(np.swapaxes(operand, -1, -2))
    factor = np.zeros_like(a)
    context.count_steps(a.shape[-1])
    for j in range(a.shape[-1]):
        column = a[..., j:, j] - (factor[..., j:, :j] * np.conj(factor[..., j : j + 1, :j])).sum(-1)
        pivot = np.sqrt(column[..., 0].real)
        factor[..., j:, j] = column / pivot[..., None]
        factor[..., j, j] = pivot
    failed = np.isnan(factor).any(axis=(-1, -2), keepdims=True)
    factor = np.where(failed, np.array(np.nan, factor.dtype), factor)
    return factor if lower else np.conj(np.swapaxes(factor, -1, -2))
