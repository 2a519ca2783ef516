"""Sparse operands of products as dense arrays."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...answers import Unknown
from ...errors import UnsupportedError
from ...lazy import np
from .._attributes import scale_operands, sparse_sides
from .._evaluation import Array, Value


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
