"""Semantics of triangular-solve: substitution row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Value
from .._numpy.numeric import accumulated


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Substitution, after transposing a system with a on the right."""
    attributes = instruction.attributes
    # Small floats are rounded once, at the end.
    a, b = (np.asarray(x).astype(accumulated(x.dtype), copy=False) for x in operands)
    a = np.tril(a) if attributes.get("lower", False) else np.triu(a)
    kind = attributes.get("transpose_a", "NO_TRANSPOSE")
    if kind != "NO_TRANSPOSE":
        a = np.swapaxes(a, -1, -2)
    if kind == "ADJOINT":
        a = np.conj(a)
    left = bool(attributes.get("left_side", False))
    if not left:
        a, b = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
    n = a.shape[-1]
    is_lower = bool(attributes.get("lower", False)) ^ (kind != "NO_TRANSPOSE") ^ (not left)
    x = np.zeros_like(b)
    context.count_steps(n)
    for i in range(n) if is_lower else reversed(range(n)):
        known = slice(0, i) if is_lower else slice(i + 1, n)
        rest = b[..., i, :] - np.einsum("...k,...kc->...c", a[..., i, known], x[..., known, :])
        x[..., i, :] = rest if attributes.get("unit_diagonal", False) else rest / a[..., i, i, None]
    return x if left else np.swapaxes(x, -1, -2)
