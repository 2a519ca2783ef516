"""pad in NumPy: interior first, then the edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import EvalContext, Value


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Put places between the elements, then extend or cut both ends."""
    data, value = operands
    for axis, (low, high, interior) in enumerate(instruction.attributes["padding"]):
        length = data.shape[axis]
        spread_sizes = list(data.shape)
        spread_sizes[axis] = max(0, length + max(0, length - 1) * interior)
        spread = np.full(spread_sizes, value, data.dtype)
        spread[(slice(None),) * axis + (slice(None, None, interior + 1),)] = data
        ends = [(0, 0)] * data.ndim
        ends[axis] = (max(0, low), max(0, high))
        grown = np.pad(spread, ends, constant_values=value)
        cut = slice(max(0, -low), grown.shape[axis] - max(0, -high))
        data = grown[(slice(None),) * axis + (cut,)]
    return data
