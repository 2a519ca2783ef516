"""Semantics of select-and-scatter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import Array, EvalContext, Value
from .._numpy.window import dilate_and_pad, sliding_windows
from .attributes import window_dims


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Select in all windows at once; then combine the source elements of the same target one after the other."""
    data, source, init = (np.asarray(x) for x in operands)
    select, scatter = (instruction.attributes[name] for name in ("select", "scatter"))
    dims, axes = window_dims(instruction), range(data.ndim)
    count = int(np.prod([dim.size for dim in dims], dtype=np.int64))
    context.count_elements(source.size * count)

    def in_windows(array: Array, fill: object) -> Array:
        return sliding_windows(dilate_and_pad(array, axes, dims, fill), axes, dims).reshape(source.size, count)

    element, valid = in_windows(data, 0), in_windows(np.ones(data.shape, np.bool_), False)
    number = in_windows(np.arange(data.size).reshape(data.shape), -1)
    chosen, at, found = (
        element[:, :0].sum(axis=1).astype(data.dtype),
        np.zeros(source.size, np.int64),
        np.zeros(source.size, np.bool_),
    )
    for k in range(count):
        keeps = found & np.asarray(context.apply(select, [chosen, element[:, k]]))
        replaces = valid[:, k] & ~keeps
        chosen, at = np.where(replaces, element[:, k], chosen), np.where(replaces, number[:, k], at)
        found = found | valid[:, k]
    output = np.full(data.size, init)
    updates = source.reshape(-1)
    remaining = np.flatnonzero(found)
    while remaining.size:
        # The first remaining source element of each target.
        target, first = np.unique(at[remaining], return_index=True)
        output[target] = context.apply(scatter, [output[target], updates[remaining[first]]])
        remaining = np.delete(remaining, first)
    return output.reshape(data.shape)
