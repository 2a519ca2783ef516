"""sort in NumPy: a merge sort of all rows at once, by the comparison that is called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import Array, EvalContext, Value
from .._shapes import n_elements


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Merge sort of all rows at once, on places; where an element goes is found by halving, one comparison a step."""
    (along,) = instruction.attributes["dimensions"]
    rows = [np.moveaxis(np.asarray(x), along, -1) for x in operands]
    shape = rows[0].shape
    n = shape[-1]
    flat = [x.reshape(n_elements(shape[:-1]), n) for x in rows]
    order = np.broadcast_to(np.arange(n), flat[0].shape)

    def precedes(a: Array, b: Array) -> Array:
        """Whether the elements at places ``a`` come before those at ``b``."""
        pairs = [np.take_along_axis(x, at, 1) for x in flat for at in (a, b)]
        return np.broadcast_to(context.apply(instruction.called_computations[0], pairs), a.shape).astype(np.bool_)

    width = 1
    while width < n:
        order = _merged(order, width, precedes)
        width *= 2
    done = tuple(np.moveaxis(np.take_along_axis(x, order, 1).reshape(shape), -1, along) for x in flat)
    return done if instruction.shape.is_tuple else done[0]


def _merged(order: Array, width: int, precedes: object) -> Array:
    """Neighbouring runs of ``width`` places, each in order, become one."""
    assert callable(precedes)
    n = order.shape[1]
    place = np.arange(n)
    run, own = place // width, place % width
    is_left = run % 2 == 0
    begin = np.where(is_left, run + 1, run - 1) * width
    low = np.broadcast_to(np.minimum(begin, n), order.shape)
    high = np.broadcast_to(np.minimum(begin + width, n), order.shape)
    # How many of the other run come before: of equal elements those of the left run do.
    while (low < high).any():
        middle = (low + high) // 2
        other = np.take_along_axis(order, np.minimum(middle, n - 1), 1)
        comes_before = np.where(is_left, precedes(other, order), ~precedes(order, other))
        low, high = np.where((low < high) & comes_before, middle + 1, low), np.where(comes_before, high, middle)
        high = np.maximum(low, high)
    target = np.where(is_left, run, run - 1) * width + own + low - np.minimum(begin, n)
    # A comparison that is no order may send two elements to one place.
    merged = order.copy()
    np.put_along_axis(merged, target, order, 1)
    return merged
