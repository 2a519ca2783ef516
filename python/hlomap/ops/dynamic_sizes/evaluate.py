"""Semantics of operations on dynamic sizes: arrays have the size in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from ...errors import UnsupportedError
from .._evaluation import EvalContext, Value
from .._shapes import n_elements, require


def _along(instruction: Instruction) -> int:
    (along,) = instruction.attributes["dimensions"]
    require(0 <= along < instruction.operands[0].shape.rank, f"dimension {along} is out of range")
    return int(along)


def get_dimension_size(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The size in use of one dimension."""
    return np.asarray(operands[0].shape[_along(instruction)], np.int32)


def set_dimension_size(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The first ``size`` elements along the dimension, which are in use in the operand."""
    array, along = operands[0], _along(instruction)
    size = int(operands[1])
    bound = instruction.shape.dimensions[along]
    require(0 <= size <= bound, f"size {size} is not within the bound {bound}")
    if size > array.shape[along]:
        # XLA would show what the operand's buffer happens to hold there.
        raise UnsupportedError(f"{array.shape[along]} elements are in use, {size} are asked for")
    return array[(slice(None),) * along + (slice(0, size),)]


def dynamic_reshape(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The elements in use, in row-major order, with the given sizes."""
    sizes = [int(size) for size in operands[1:]]
    bounds = instruction.shape.dimensions
    require(len(sizes) == len(bounds), f"expected {len(bounds)} sizes, found {len(sizes)}")
    require(
        all(0 <= n <= bound for n, bound in zip(sizes, bounds, strict=True)),
        f"sizes {sizes} are not within the bounds {list(bounds)}",
    )
    require(n_elements(sizes) == operands[0].size, f"{operands[0].size} elements cannot have sizes {sizes}")
    return operands[0].reshape(sizes)
