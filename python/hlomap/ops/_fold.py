"""Folding whole arrays with a computation on scalars: neighbours in pairs, so only associativity is used.

Places can be left out by a mask; the initial values are applied once, at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ._op import Array, Value

Combine = Callable[[Sequence[Array]], Value]
"""Of 2n arrays, the n so far and the n to come, the n results."""


def fold(
    arrays: Sequence[Array], initial: Sequence[Array], combine: Combine, valid: Array | None = None
) -> list[Array]:
    """Fold the last axis of n arrays; ``valid`` marks the places that count."""
    outer = arrays[0].shape[:-1]
    current = list(arrays)
    mask = np.ones(current[0].shape, np.bool_) if valid is None else np.broadcast_to(valid, current[0].shape)
    while current[0].shape[-1] > 1:
        even = current[0].shape[-1] // 2 * 2
        first, second = [x[..., 0:even:2] for x in current], [x[..., 1:even:2] for x in current]
        in_first, in_second = mask[..., 0:even:2], mask[..., 1:even:2]
        both = as_list(combine([*first, *second]), len(current))
        paired = [
            np.where(in_first & in_second, c, np.where(in_first, a, b)).astype(a.dtype)
            for a, b, c in zip(first, second, both, strict=True)
        ]
        current = [np.concatenate([p, x[..., even:]], axis=-1) for p, x in zip(paired, current, strict=True)]
        mask = np.concatenate([in_first | in_second, mask[..., even:]], axis=-1)
    start = [np.broadcast_to(x, outer) for x in initial]
    if current[0].shape[-1] == 0:
        return start
    last = [x[..., 0] for x in current]
    done = as_list(combine([*start, *last]), len(current))
    return [np.where(mask[..., 0], c, a).astype(a.dtype) for a, c in zip(start, done, strict=True)]


def as_list(value: Value, n: int) -> list[Array]:
    """The n results of a computation, which is a tuple unless n is 1."""
    return list(value) if isinstance(value, tuple) else [value]


def like_shape(is_tuple: bool, arrays: Sequence[Array]) -> Value:
    """A tuple where the instruction has one."""
    return tuple(arrays) if is_tuple else arrays[0]
