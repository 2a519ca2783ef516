"""Enumerates the pairs (source element, target element) of a map for given values of its runtime sources.

:func:`enumerate_pairs` is the entry point.  A runtime variable is the value of its source at its index,
clamped to the variable's bounds as the operation itself clamps; a point belongs to the map if every constraint then
holds.  No map is composed or simplified here, which makes the result independent of the code that does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from .._core import IndexingMap
from ..base.lazy import np, npt

Ints: TypeAlias = "npt.NDArray[np.int64]"

_MAX_ELEMENTS = 1 << 63


class EnumerationLimitError(Exception):
    """Raised if the map has more points than the limit, or a runtime source has no value."""


def enumerate_pairs(
    m: IndexingMap,
    sizes: Sequence[int],
    target: Sequence[int],
    values: Mapping[int, Any],
    limit: int,
    rows: Ints | None = None,
) -> tuple[Ints, Ints]:
    """The source elements and the target elements of all pairs, as row-major numbers in two arrays of equal length.

    ``sizes`` and ``target`` are the sizes of the arrays, ``values`` the arrays of the runtime sources by number.
    With ``rows`` only these source elements are enumerated.  Raises :class:`EnumerationLimitError` if that takes
    more than ``limit`` points or the numbers leave 64 bits, and ``ValueError`` if the map leaves the arrays.
    """
    if max(prod(sizes), prod(target)) > _MAX_ELEMENTS:
        raise EnumerationLimitError(f"arrays of {list(sizes)} and {list(target)} have elements beyond 64-bit numbers")
    at, image = enumerate_points(m, sizes, target, values, limit, rows)
    return _ravel_points(at, sizes), _ravel_points(image, target)


def enumerate_points(
    m: IndexingMap,
    sizes: Sequence[int],
    target: Sequence[int],
    values: Mapping[int, Any],
    limit: int,
    rows: Ints | None = None,
) -> tuple[Ints, Ints]:
    """Like :func:`enumerate_pairs`, but the indices of the elements, a row for each pair."""
    dims = [(v.lower, v.upper) for v in m.dims]
    if any(lower < 0 or upper >= size for (lower, upper), size in zip(dims, sizes, strict=True)):
        raise ValueError(f"the domain of {m} leaves the source array of sizes {list(sizes)}")
    if m.is_known_empty:  # it has no results
        return np.zeros((0, len(sizes)), np.int64), np.zeros((0, len(target)), np.int64)
    ranges = [(v.lower, v.upper) for v in m.ranges]
    n_range_points = prod(upper - lower + 1 for lower, upper in ranges)
    n_rows = prod(upper - lower + 1 for lower, upper in dims) if rows is None else len(rows)
    n_points = n_range_points * n_rows
    if n_points > limit:
        raise EnumerationLimitError(f"the map has {n_points} points; at most {limit} are enumerated")
    at = _grid(dims) if rows is None else _select_inside(unravel_points(rows, sizes), dims)
    s = _grid(ranges)
    at, s = np.repeat(at, len(s), axis=0), np.tile(s, (len(at), 1))
    runtime = read_runtime(m, at, s, values)
    valid = m.in_domain(at, s, runtime)
    at, image = at[valid], m.evaluate(at, s, runtime, check=False)[valid]
    if (image < 0).any() or (image >= np.array(target, np.int64)).any():
        raise ValueError(f"the image of {m} leaves the target array of sizes {list(target)}")
    return at, image


def read_runtime(m: IndexingMap, at: Ints, s: Ints, values: Mapping[int, Any]) -> Ints:
    """The values of the runtime variables, one column each; a variable's index may use the columns before it."""
    runtime: Ints = np.zeros((len(at), 0), np.int64)
    for number, variable in enumerate(m.runtime):
        source = variable.source
        if source is None or source not in values:
            raise EnumerationLimitError("a runtime variable has a source without a value")
        index = IndexingMap(
            list(m.dims), list(variable.element), ranges=list(m.ranges), runtime=list(m.runtime[:number])
        )
        points = index.evaluate(at, s, runtime, check=False)
        held = np.asarray(values[source])
        # Outside the domain the index is arbitrary.
        clipped = tuple(np.clip(points[:, i], 0, size - 1) for i, size in enumerate(held.shape))
        read = np.broadcast_to(_to_int64(held)[clipped], len(at))
        column = np.clip(read, variable.lower, variable.upper)
        runtime = np.concatenate([runtime, column.reshape(-1, 1)], axis=1)
    return runtime


def _to_int64(held: npt.NDArray[Any]) -> Ints:
    if held.dtype == np.uint64:
        held = np.minimum(held, np.uint64(2**63 - 1))
    return held.astype(np.int64)


def _grid(bounds: Sequence[tuple[int, int]]) -> Ints:
    if not bounds:
        return np.zeros((1, 0), np.int64)
    axes = np.meshgrid(*(np.arange(lower, upper + 1) for lower, upper in bounds), indexing="ij")
    return np.stack([axis.reshape(-1) for axis in axes], axis=1).astype(np.int64)


def _select_inside(points: Ints, bounds: Sequence[tuple[int, int]]) -> Ints:
    lower, upper = np.array(bounds, np.int64).reshape(-1, 2).T
    return points[((lower <= points) & (points <= upper)).all(axis=1)]


def unravel_points(numbers: Ints, sizes: Sequence[int]) -> Ints:
    """The indices of elements with these row-major numbers, a row for each.

    >>> unravel_points(np.array([0, 5]), [2, 3]).tolist()
    [[0, 0], [1, 2]]
    """
    if not sizes:
        return np.zeros((len(numbers), 0), np.int64)
    return np.stack(np.unravel_index(numbers, tuple(sizes)), axis=1).astype(np.int64)


def _ravel_points(points: Ints, sizes: Sequence[int]) -> Ints:
    number: Ints = np.zeros(len(points), np.int64)
    for axis, size in enumerate(sizes):
        number = number * size + points[:, axis]
    return number
