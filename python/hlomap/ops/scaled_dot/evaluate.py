"""scaled-dot in NumPy: both sides scaled, then a dot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from ...dtypes import numpy_dtype
from .._evaluation import Array, EvalContext, Value
from .._numpy.contraction import sum_of_products
from .attributes import scaled_dot_dimensions


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Scale each side in the type of the result, then one einsum."""
    d = scaled_dot_dimensions(instruction)
    dtype = numpy_dtype(instruction.shape.dtype)
    number = {label: i for i, label in enumerate(d.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (*d.labels[:2], d.output))
    left, right = (_scaled(x, factors) for x, factors in zip(operands[:2], operands[2:], strict=True))
    return sum_of_products(left, a, right, b, out, dtype)


def _scaled(side: Array, factors: Array) -> Array:
    side, factors = np.asarray(side).astype(np.float32), np.asarray(factors).astype(np.float32)
    for axis, n in enumerate(factors.shape):
        factors = np.repeat(factors, side.shape[axis] // n, axis=axis)
    return side * factors
