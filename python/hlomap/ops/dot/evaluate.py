"""Semantics of dot."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...answers import Unknown
from ...dtypes import numpy_dtype
from ...errors import UnsupportedError
from .._evaluation import EvalContext, Value
from .._numpy.contraction import dense_operands, sum_of_products
from .attributes import dot_dimensions


def _cut(operands: Sequence[Value], a_axes: Sequence[int], b_axes: Sequence[int]) -> Sequence[Value]:
    """The operands without the elements that the other one does not have in use, along paired axes."""
    in_use: dict[int, int] = {}
    for x, axes in zip(operands, (a_axes, b_axes), strict=False):
        for size, axis in zip(x.shape, axes, strict=True):
            in_use[axis] = min(size, in_use.get(axis, size))
    return [x[tuple(slice(in_use[axis]) for axis in axes)] for x, axes in zip(operands, (a_axes, b_axes), strict=False)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """One einsum in which paired batch and contracted dimensions share an axis."""
    dimensions = dot_dimensions(instruction)
    if isinstance(dimensions, Unknown):
        raise UnsupportedError(f"dot cannot be executed: {dimensions.reason}")
    left, right = dimensions
    operands = dense_operands(instruction, operands)
    a_axes = list(range(len(left.sizes)))
    b_axes = [len(left.sizes) + i for i in range(len(right.sizes))]
    for i, j in zip(left.batch + left.contracted, right.batch + right.contracted, strict=True):
        b_axes[j] = a_axes[i]
    operands = _cut(operands, a_axes, b_axes)
    out = [a_axes[i] for i in left.batch + left.free] + [b_axes[i] for i in right.free]
    return sum_of_products(operands[0], a_axes, operands[1], b_axes, out, numpy_dtype(instruction.shape.dtype))
