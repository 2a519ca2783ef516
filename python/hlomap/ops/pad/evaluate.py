"""Semantics of pad: interior padding, then the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Value


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Insert interior padding, then extend or cut both ends."""
    data, value = operands
    for axis, (low, high, interior) in enumerate(instruction.attributes["padding"]):
        length = data.shape[axis]
        dilated_sizes = list(data.shape)
        dilated_sizes[axis] = max(0, length + max(0, length - 1) * interior)
        dilated = np.full(dilated_sizes, value, data.dtype)
        dilated[(slice(None),) * axis + (slice(None, None, interior + 1),)] = data
        ends = [(0, 0)] * data.ndim
        ends[axis] = (max(0, low), max(0, high))
        padded = np.pad(dilated, ends, constant_values=value)
        kept = slice(max(0, -low), padded.shape[axis] - max(0, -high))
        data = padded[(slice(None),) * axis + (kept,)]
    return data
