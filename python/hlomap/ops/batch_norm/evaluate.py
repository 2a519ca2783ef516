"""Semantics of batch-norm-*: reductions over all dimensions but the feature dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import Array, EvalContext, Value
from .._numpy.numeric import widened


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The formulas of the operation, computed in at least 32 bits."""
    x = np.asarray(operands[0])
    dtype, work = x.dtype, np.result_type(widened(x.dtype), np.float32)
    # XLA keeps epsilon in f32, whatever the element type.
    epsilon = float(np.float32(instruction.attributes["epsilon"]))
    feature = int(instruction.attributes["feature_index"])
    axes = tuple(i for i in range(x.ndim) if i != feature)
    shape = [-1 if i == feature else 1 for i in range(x.ndim)]
    x, *rest = (np.asarray(operand).astype(work) for operand in operands)

    def feature_mean(array: Array) -> Array:
        # NumPy's mean would warn about empty arrays.
        return np.asarray(array.sum(axis=axes) / work.type(array.size / max(1, array.shape[feature])))

    def wide(array: Array) -> Array:
        return array.reshape(shape)

    if instruction.opcode == "batch-norm-grad":
        scale, mean, variance, grad = rest
        centered, factor = x - wide(mean), 1 / np.sqrt(variance + work.type(epsilon))
        grad_mean, cross = feature_mean(grad), feature_mean(grad * centered)
        inner = grad - wide(grad_mean) - centered * wide(cross * factor * factor)
        gradients = (
            wide(scale * factor) * inner,
            (grad * centered).sum(axis=axes) * factor,
            grad.sum(axis=axes),
        )
        return tuple(part.astype(dtype) for part in gradients)
    scale, offset = rest[:2]
    training = instruction.opcode == "batch-norm-training"
    mean = feature_mean(x) if training else rest[2]
    variance = feature_mean((x - wide(mean)) ** 2) if training else rest[3]
    normal = (x - wide(mean)) / np.sqrt(wide(variance) + work.type(epsilon)) * wide(scale) + wide(offset)
    if not training:
        return normal.astype(dtype)
    return normal.astype(dtype), mean.astype(dtype), variance.astype(dtype)
