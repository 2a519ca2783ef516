"""select-and-scatter in NumPy: each window's selected place takes the source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import Array, EvalContext, Value
from .._numpy.window import dilate_and_pad, sliding_windows
from .attributes import window_dims


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """All windows at once, place by place; then the sources that go to one place one after the other."""
    data, source, init = (np.asarray(x) for x in operands)
    select, scatter = (instruction.attributes[name] for name in ("select", "scatter"))
    dims, axes = window_dims(instruction), range(data.ndim)
    count = int(np.prod([dim.size for dim in dims], dtype=np.int64))

    def seen(array: Array, fill: object) -> Array:
        return sliding_windows(dilate_and_pad(array, axes, dims, fill), axes, dims).reshape(source.size, count)

    element, valid = seen(data, 0), seen(np.ones(data.shape, np.bool_), False)
    number = seen(np.arange(data.size).reshape(data.shape), -1)
    chosen, at, found = (
        element[:, :0].sum(axis=1).astype(data.dtype),
        np.zeros(source.size, np.int64),
        np.zeros(source.size, np.bool_),
    )
    for k in range(count):
        stays = found & np.asarray(context.apply(select, [chosen, element[:, k]]))
        takes = valid[:, k] & ~stays
        chosen, at = np.where(takes, element[:, k], chosen), np.where(takes, number[:, k], at)
        found = found | valid[:, k]
    made = np.full(data.size, init)
    given = source.reshape(-1)
    waiting = np.flatnonzero(found)
    while waiting.size:
        # The first source of each place that has any.
        place, first = np.unique(at[waiting], return_index=True)
        made[place] = context.apply(scatter, [made[place], given[waiting[first]]])
        waiting = np.delete(waiting, first)
    return made.reshape(data.shape)
