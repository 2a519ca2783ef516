"""The components of the index vectors of gather and scatter as expressions.

Component k of vector b is the element of the indices whose index is b, with k inserted at ``index_vector_dim``; if that
is the rank of the indices, every index is a vector of one component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._core import Expr, Instruction
from ...errors import HlomapError
from .._evaluation import Array
from .._rule import Bounds, ExprLike

_MAX_LITERAL = 1 << 20
"""Elements of a constant that are searched for an affine pattern."""
_TYPE_MAX = {"s8": 127, "u8": 255, "s16": 2**15 - 1, "u16": 2**16 - 1, "s32": 2**31 - 1, "u32": 2**32 - 1}


def vector_components(
    indices: Instruction,
    operand: int,
    index_vector_dim: int,
    vector: Sequence[ExprLike],
    components: Sequence[Bounds],
    runtime: list[Any],
    adjust: Callable[[ExprLike, Bounds, Bounds], ExprLike],
) -> list[ExprLike]:
    """The value of each component of the index vector numbered by the expressions ``vector``.

    Where the indices are a constant or an iota, ``adjust`` gets the value with its own bounds and the bounds of the
    component.  Otherwise the component is a new runtime variable within its bounds, read from operand ``operand`` and
    appended to ``runtime``.
    """
    found: list[ExprLike] = []
    for k, (lower, upper) in enumerate(components):
        index = list(vector)
        if index_vector_dim < indices.shape.rank:
            index.insert(index_vector_dim, k)
        known = _known(indices, index, index_vector_dim, k)
        if known is None:
            found.append(Expr.runtime(len(runtime)))
            runtime.append((lower, upper, operand, index))
        else:
            found.append(adjust(*known, (lower, upper)))
    return found


def clamp(value: ExprLike, value_bounds: Bounds, bounds: Bounds) -> ExprLike:
    """The value clamped to ``bounds`` on the sides where it can leave them."""
    lower, upper = bounds
    if value_bounds[0] < lower:
        value = max(value, lower) if isinstance(value, int) else Expr.maximum(value, lower)
    if value_bounds[1] > upper:
        value = min(value, upper) if isinstance(value, int) else Expr.minimum(value, upper)
    return value


def keep(value: ExprLike, value_bounds: Bounds, bounds: Bounds) -> ExprLike:
    """The value itself, whatever its bounds."""
    return value


def _known(
    indices: Instruction, index: Sequence[ExprLike], index_vector_dim: int, k: int
) -> tuple[ExprLike, Bounds] | None:
    """Component k as an expression with its bounds, where the indices are an iota or an affine constant; else None."""
    sizes = indices.shape.dimensions
    if indices.opcode == "iota":
        along = int(indices.attributes["iota_dimension"])
        if sizes[along] - 1 > _TYPE_MAX.get(indices.shape.dtype, 2**63 - 1 if indices.shape.dtype[1:] == "64" else -1):
            return None
        value = index[along]
        return value, (value, value) if isinstance(value, int) else (0, sizes[along] - 1)
    if indices.opcode != "constant" or indices.shape.n_elements > _MAX_LITERAL:
        return None
    try:
        literal = indices.literal
    except HlomapError:
        return None
    if literal is None or literal.size == 0:
        return None
    # As the semantics have it, u64 values beyond the range of s64 are its maximum: out of bounds on the upper side.
    saturated = np.minimum(literal, np.uint64(2**63 - 1)) if literal.dtype == np.uint64 else literal
    values: Array = np.asarray(saturated).astype(np.int64)
    if index_vector_dim < values.ndim:
        values = np.take(values, k, axis=index_vector_dim)
        index = [*index[:index_vector_dim], *index[index_vector_dim + 1 :]]
    factors = _affine(values)
    if factors is None:
        return None
    total: ExprLike = int(values.reshape(-1)[0])
    for factor, variable in zip(factors, index, strict=True):
        if factor:
            total = factor * variable + total
    return total, (int(values.min()), int(values.max()))


def _affine(values: Array) -> list[int] | None:
    """The step along each dimension, where the elements are an affine function of their index; else None."""
    first = int(values.reshape(-1)[0])
    if max(abs(int(values.min())), abs(int(values.max()))) >= 2**31:
        return [0] * values.ndim if (values == first).all() else None
    expected = np.full(values.shape, first)
    steps = []
    for axis, size in enumerate(values.shape):
        step = int(values[tuple(int(i == axis) for i in range(values.ndim))]) - first if size > 1 else 0
        steps.append(step)
        expected = expected + step * np.arange(size).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    return steps if (expected == values).all() else None
