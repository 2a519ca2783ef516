"""Sums of products over labelled axes, as XLA accumulates them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ..._core import Instruction
from ...base.answers import Unknown
from ...base.dtypes import is_integer
from ...base.lazy import np
from ...errors import UnsupportedError
from .._attributes import scale_operands, sparse_sides
from .._evaluation import Array, Value
from .numeric import accumulated, cast, widened, width_of


def sum_of_products(
    a: Array, a_axes: Sequence[int], b: Array, b_axes: Sequence[int], out: Sequence[int], to: np.dtype[Any]
) -> Array:
    """``einsum`` with numbered axes: small floats accumulate in f32, integers in the result type, pred with ``or``."""
    work = _accumulation_type(a, a_axes, b, out, to)
    total = _product(a.astype(work, copy=False), a_axes, b.astype(work, copy=False), b_axes, out)
    if to == np.bool_:
        return np.asarray(total != 0)
    if is_integer(to):
        whole = np.uint64 if to == np.uint64 else np.int64
        return cast(total.astype(whole) if work == np.float64 else total, to)
    return cast(total, to)


def _accumulation_type(
    a: Array, a_axes: Sequence[int], b: Array, out: Sequence[int], to: np.dtype[Any]
) -> np.dtype[Any]:
    """The type in which products are summed: f64 for small integers, as long as every sum is exact in it."""
    if to == np.bool_:
        return np.dtype(np.float32)
    if is_integer(to):
        n = prod(size for size, axis in zip(a.shape, a_axes, strict=True) if axis not in out)
        exact = n * 2 ** (width_of(a.dtype) + width_of(b.dtype)) < 2**53
        return np.dtype(np.float64) if exact else widened(to)
    return np.result_type(accumulated(to), accumulated(a.dtype), accumulated(b.dtype))


def _product(a: Array, a_axes: Sequence[int], b: Array, b_axes: Sequence[int], out: Sequence[int]) -> Array:
    """One matrix product: batch axes first, then the axes of one side alone, then the summed axes."""
    size = dict(zip([*a_axes, *b_axes], [*a.shape, *b.shape], strict=True))
    both = set(a_axes) & set(b_axes)
    batch = [axis for axis in out if axis in both]
    free_a = [axis for axis in out if axis in a_axes and axis not in both]
    free_b = [axis for axis in out if axis in b_axes and axis not in both]
    summed = [axis for axis in a_axes if axis in both and axis not in out]
    unpaired = (set(a_axes) | set(b_axes)) - both - set(out)
    if unpaired or not a.size or not b.size:
        return np.asarray(np.einsum(a, list(a_axes), b, list(b_axes), list(out)))
    # In the order of the left side's memory, so that making it a matrix copies whole rows.
    summed.sort(key=lambda axis: -abs(a.strides[a_axes.index(axis)]))

    def matrix(x: Array, axes: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> Array:
        ordered = x.transpose([axes.index(axis) for axis in (*batch, *rows, *columns)])
        lengths = [prod(size[axis] for axis in part) for part in (rows, columns)]
        return ordered.reshape([*(size[axis] for axis in batch), *lengths])

    left, right = matrix(a, a_axes, free_a, summed), matrix(b, b_axes, summed, free_b)
    product = np.multiply(left, right) if left.shape[-1] == 1 else np.matmul(left, right)
    product = product.reshape([size[axis] for axis in (*batch, *free_a, *free_b)])
    ordered = [*batch, *free_a, *free_b]
    return product.transpose([ordered.index(axis) for axis in out])


# Sparse operands of products as dense arrays.


def dense_operands(instruction: Instruction, operands: Sequence[Value]) -> list[Array]:
    """Both operands of a product, with zeros for the elements that a sparse one leaves out."""
    if scale_operands(instruction):
        raise UnsupportedError(
            f"{instruction.opcode} with block_scaling_config cannot be executed: XLA does not document how scales and "
            "zeros enter the product"
        )
    sides = sparse_sides(instruction)
    if isinstance(sides, Unknown):
        raise UnsupportedError(f"{instruction.opcode} cannot be executed: {sides.reason}")
    dense = [np.asarray(x) for x in operands[:2]]
    for k, side in enumerate(sides):
        if side is None:
            continue
        values, index = dense[k], np.asarray(operands[side.index_operand]).astype(np.int64)
        sizes = list(values.shape)
        starts = side.block * np.arange(sizes[side.dimension])
        starts = starts.reshape([-1 if d == side.dimension else 1 for d in range(values.ndim)])
        sizes[side.dimension] *= side.block
        dense[k] = np.zeros(sizes, values.dtype)
        # An index outside its block, which is not defined, is clamped, as in the maps.
        np.put_along_axis(dense[k], starts + np.clip(index, 0, side.block - 1), values, side.dimension)
    return dense
