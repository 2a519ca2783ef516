"""Sizes in use of the result of an operation on arrays with dynamic dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...errors import UnsupportedError
from .._shapes import matched_dims, n_elements


def reshaped_sizes(instruction: Instruction, sizes: Sequence[int]) -> list[int]:
    """The sizes of a reshape of an operand with these sizes in use.

    Of the dimensions that match each other, one of the result may be dynamic, and its size follows from the others.
    """
    shape, bounds = instruction.shape, instruction.operands[0].shape.dimensions
    found = list(shape.dimensions)
    if tuple(sizes) == tuple(bounds):
        return found
    for ours, theirs in matched_dims(bounds, shape.dimensions):
        n = n_elements(sizes[k] for k in ours)
        varying = [k for k in theirs if shape.dynamic[k] and shape.dimensions[k] > 1] or [
            k for k in theirs if shape.dynamic[k]
        ]
        fixed = n_elements(shape.dimensions[k] for k in theirs if k not in varying)
        if len(varying) > 1 or fixed == 0 or n % fixed or (not varying and n != fixed):
            raise UnsupportedError(f"the sizes in use, {list(sizes)}, do not determine those of {shape}")
        for k in varying:
            found[k] = n // fixed
    return found
