"""The pairs that a map stands for, point by point, for given values of its runtime sources.

:func:`enumerate_pairs` is the way in.  The law: a runtime variable is what its source holds, brought into its range,
since that is what an operation's own clamp does; a point counts where every constraint holds then.  No map is composed
or simplified here, so this is a second opinion on what does that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import IndexingMap

__all__ = ["TooMany", "enumerate_pairs", "flat"]

Ints = npt.NDArray[np.int64]


class TooMany(Exception):
    """More points than were asked for, or a source whose value is not given."""


def enumerate_pairs(
    m: IndexingMap,
    sizes: Sequence[int],
    target: Sequence[int],
    values: Mapping[int, Any],
    limit: int,
    rows: Ints | None = None,
) -> tuple[Ints, Ints]:
    """Numbers, in row-major order, of the source and target elements that belong together; of ``rows`` alone if given.

    Raises :class:`TooMany` where that takes more than ``limit`` points, and ``ValueError`` where a map leaves the
    arrays.
    """
    dims = [(v.lower, v.upper) for v in m.dims]
    if any(lower < 0 or upper >= size for (lower, upper), size in zip(dims, sizes, strict=True)):
        raise ValueError(f"the domain of {m} leaves {list(sizes)}")
    ranges = [(v.lower, v.upper) for v in m.ranges]
    n_over = prod(upper - lower + 1 for lower, upper in ranges)
    n_rows = prod(upper - lower + 1 for lower, upper in dims) if rows is None else len(rows)
    if n_over * n_rows > limit:
        raise TooMany(f"{n_over * n_rows} points")
    at = _grid(dims) if rows is None else _inside(_unflat(rows, sizes), dims)
    over = _grid(ranges)
    at, over = np.repeat(at, len(over), axis=0), np.tile(over, (len(at), 1))
    runtime = _runtime(m, at, over, values)
    valid = m.in_domain(at, over, runtime)
    at, image = at[valid], m.evaluate(at, over, runtime)[valid]
    if (image < 0).any() or (image >= np.array(target, np.int64)).any():
        raise ValueError(f"the image of {m} leaves {list(target)}")
    return flat(at, sizes), flat(image, target)


def _runtime(m: IndexingMap, at: Ints, over: Ints, values: Mapping[int, Any]) -> Ints:
    """One column for each runtime variable; an index may use the columns before it."""
    runtime: Ints = np.zeros((len(at), 0), np.int64)
    for number, variable in enumerate(m.runtime):
        source = variable.source
        if source is None or source not in values:
            raise TooMany("a runtime source without a value")
        index = IndexingMap(list(m.dims), list(variable.index), ranges=list(m.ranges), runtime=list(m.runtime[:number]))
        where = index.evaluate(at, over, runtime)
        held = np.asarray(values[source])
        # Outside the domain the index means nothing.
        inside = tuple(np.clip(where[:, i], 0, size - 1) for i, size in enumerate(held.shape))
        read = np.broadcast_to(_signed(held)[inside], len(at))
        column = np.clip(read, variable.lower, variable.upper)
        runtime = np.concatenate([runtime, column.reshape(-1, 1)], axis=1)
    return runtime


def _signed(held: npt.NDArray[Any]) -> Ints:
    if held.dtype == np.uint64:
        held = np.minimum(held, np.uint64(2**63 - 1))
    return held.astype(np.int64)


def _grid(bounds: Sequence[tuple[int, int]]) -> Ints:
    if not bounds:
        return np.zeros((1, 0), np.int64)
    axes = np.meshgrid(*(np.arange(lower, upper + 1) for lower, upper in bounds), indexing="ij")
    return np.stack([axis.reshape(-1) for axis in axes], axis=1).astype(np.int64)


def _inside(points: Ints, bounds: Sequence[tuple[int, int]]) -> Ints:
    kept = np.ones(len(points), np.bool_)
    for axis, (lower, upper) in enumerate(bounds):
        kept &= (points[:, axis] >= lower) & (points[:, axis] <= upper)
    return points[kept].astype(np.int64)


def _unflat(numbers: Ints, sizes: Sequence[int]) -> Ints:
    if not sizes:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, tuple(sizes)), axis=1).astype(np.int64)


def flat(points: Ints, sizes: Sequence[int]) -> Ints:
    """Row-major numbers of points."""
    number: Ints = np.zeros(len(points), np.int64)
    for axis, size in enumerate(sizes):
        number = number * size + points[:, axis]
    return number
