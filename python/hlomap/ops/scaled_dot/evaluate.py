"""Semantics of scaled-dot: both sides are scaled, then multiplied as a dot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from ...dtypes import numpy_dtype
from .._evaluation import Array, EvalContext, Value
from .._numpy.contraction import sum_of_products
from .attributes import scaled_dot_dimensions


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Scale both sides in f32, then one einsum."""
    d = scaled_dot_dimensions(instruction)
    dtype = numpy_dtype(instruction.shape.dtype)
    number = {label: i for i, label in enumerate(d.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (*d.labels[:2], d.output))
    left, right = (_scaled(x, scales) for x, scales in zip(operands[:2], operands[2:], strict=True))
    return sum_of_products(left, a, right, b, out, dtype)


def _scaled(side: Array, scales: Array) -> Array:
    side, scales = np.asarray(side).astype(np.float32), np.asarray(scales).astype(np.float32)
    for axis, n in enumerate(scales.shape):
        scales = np.repeat(scales, side.shape[axis] // n, axis=axis)
    return side * scales
