"""The points of small maps, and the pairs of a point of the dims and an element."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import hlomap as hm

Ints = npt.NDArray[np.int64]
Pair = tuple[tuple[int, ...], tuple[int, ...]]


def grid(*axes: Any) -> Ints:
    """A row for each choice of one number from each axis."""
    if not axes:
        return np.zeros((1, 0), np.int64)
    return np.stack([axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")], axis=1).astype(np.int64)


def spans(variables: Iterable[hm.maps.Variable]) -> list[range]:
    return [range(v.lower, v.upper + 1) for v in variables]


def points(m: hm.IndexingMap, runtime: Sequence[int] = ()) -> tuple[Ints, Ints]:
    """The dims and the elements of all points in the domain, in rows, for given values of the runtime variables."""
    assert not m.is_undefined
    if m.is_known_empty:
        return np.zeros((0, len(m.dims)), np.int64), np.zeros((0, 0), np.int64)
    axes = spans((*m.dims, *m.ranges))
    assert np.prod([len(axis) for axis in axes], dtype=float) <= 1 << 22, str(m)
    whole = grid(*axes)
    dims, ranges = whole[:, : len(m.dims)], whole[:, len(m.dims) :]
    given = np.tile(np.array(runtime, np.int64), (len(whole), 1))
    inside = m.in_domain(dims, ranges, given)
    return dims[inside], m.evaluate(dims[inside], ranges[inside], given[inside])


def pairs(m: hm.IndexingMap, runtime: Sequence[int] = ()) -> list[Pair]:
    """A dim tuple and an element for each point of the domain."""
    return [(tuple(d), tuple(e)) for d, e in zip(*(rows.tolist() for rows in points(m, runtime)), strict=True)]


def all_pairs(members: Iterable[hm.IndexingMap], runtime: Sequence[int] = ()) -> set[Pair]:
    return {pair for m in members for pair in pairs(m, runtime)}


def elements(members: Iterable[hm.IndexingMap], runtime: Sequence[int] = ()) -> set[tuple[int, ...]]:
    return {element for _, element in all_pairs(members, runtime)}
