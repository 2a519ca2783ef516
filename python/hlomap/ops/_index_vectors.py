"""The index vectors of gather and scatter: where each one lies, and what it holds where that is known.

Read :func:`starts_at` first.  The law: vector b has component k at the place of the indices that b names, with k along
``index_vector_dim``; where that is the rank of the indices, each index is a vector of one component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Expr, Instruction, Variable
from ..errors import HlomapError
from ._evaluation import Array
from ._rule import Bounds, ExprLike
from ._shapes import must

_MAX_LITERAL = 1 << 20
_TYPE_MAX = {"s8": 127, "u8": 255, "s16": 2**15 - 1, "u16": 2**16 - 1, "s32": 2**31 - 1, "u32": 2**32 - 1}


def vector_dims(indices: Sequence[int], vector_dim: int, n_components: int) -> list[int]:
    """The dimensions of the indices that number the vectors."""
    must(0 <= vector_dim <= len(indices), f"index vectors along dimension {vector_dim}")
    length = indices[vector_dim] if vector_dim < len(indices) else 1
    must(length == n_components, f"index vectors of {length} components for {n_components} dimensions")
    return [i for i in range(len(indices)) if i != vector_dim]


def starts_at(
    indices: Instruction,
    source: int,
    vector_dim: int,
    vector: Sequence[ExprLike],
    components: Sequence[Bounds],
    runtime: list[Any],
    known_as: Callable[[ExprLike, Bounds, Bounds], ExprLike],
) -> list[ExprLike]:
    """What each component of the vector named by those expressions holds.

    Known contents, given their own bounds and those of the component, become ``known_as`` says; else a runtime variable
    within the component's bounds, the element of operand ``source``, is put to the others.
    """
    found: list[ExprLike] = []
    for k, (lower, upper) in enumerate(components):
        index = list(vector)
        if vector_dim < indices.shape.rank:
            index.insert(vector_dim, k)
        known = _known(indices, index, vector_dim, k)
        if known is None:
            found.append(Expr.runtime(len(runtime)))
            runtime.append(Variable(None, lower, upper, source=source, index=index))
        else:
            found.append(known_as(*known, (lower, upper)))
    return found


def clamped(value: ExprLike, reach: Bounds, bounds: Bounds) -> ExprLike:
    """Brought to the bounds where it can leave them."""
    lower, upper = bounds
    if reach[0] < lower:
        value = max(value, lower) if isinstance(value, int) else Expr.maximum(value, lower)
    if reach[1] > upper:
        value = min(value, upper) if isinstance(value, int) else Expr.minimum(value, upper)
    return value


def as_held(value: ExprLike, reach: Bounds, bounds: Bounds) -> ExprLike:
    """Wherever it is."""
    return value


def _known(indices: Instruction, index: Sequence[ExprLike], vector_dim: int, k: int) -> tuple[ExprLike, Bounds] | None:
    """Component k as an expression with its least and greatest value, where the indices are a constant or an iota."""
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
    held: Array = np.asarray(literal).astype(np.int64)
    if vector_dim < held.ndim:
        held = np.take(held, k, axis=vector_dim)
        index = [*index[:vector_dim], *index[vector_dim + 1 :]]
    factors = _affine(held)
    if factors is None:
        return None
    total: ExprLike = int(held.reshape(-1)[0])
    for factor, variable in zip(factors, index, strict=True):
        if factor:
            total = factor * variable + total
    return total, (int(held.min()), int(held.max()))


def _affine(held: Array) -> list[int] | None:
    """The step along each dimension, where the elements are an affine function of their place."""
    first = int(held.reshape(-1)[0])
    if max(abs(int(held.min())), abs(int(held.max()))) >= 2**31:
        return [0] * held.ndim if (held == first).all() else None
    expected = np.full(held.shape, first)
    steps = []
    for axis, size in enumerate(held.shape):
        step = int(held[tuple(int(i == axis) for i in range(held.ndim))]) - first if size > 1 else 0
        steps.append(step)
        expected = expected + step * np.arange(size).reshape([-1 if i == axis else 1 for i in range(held.ndim)])
    return steps if (expected == held).all() else None


# ------------------------------------------------------------------------------------------------------------- arrays


def held_starts(indices: Array, vector_dim: int) -> Array:
    """All vectors with their components last, as signed numbers; what is beyond them is as far as they go."""
    if vector_dim == indices.ndim:
        indices = indices[..., None]
    moved = np.moveaxis(indices, vector_dim, -1)
    if moved.dtype == np.uint64:
        moved = np.minimum(moved, np.uint64(2**63 - 1))
    return moved.astype(np.int64)
