"""The pairs of a point of the dims and an element, of all points of small maps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

import hlomap as hm

Pair = tuple[tuple[int, ...], tuple[int, ...]]


def pairs(m: hm.IndexingMap, runtime: tuple[int, ...] = ()) -> list[Pair]:
    """A dim tuple and an element for each point of the domain, for given values of the runtime variables."""
    assert not m.is_undefined
    if m.is_known_empty:
        return []
    axes = [np.arange(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
    assert np.prod([len(axis) for axis in axes], dtype=float) < 1 << 20
    points = np.stack([*np.meshgrid(*axes, indexing="ij"), np.zeros([len(a) for a in axes], int)], -1)
    points = points.reshape(-1, len(axes) + 1)[:, :-1]
    dims, ranges = points[:, : len(m.dims)], points[:, len(m.dims) :]
    given = np.tile(np.array(runtime, int).reshape(1, -1), (len(points), 1))
    inside = m.in_domain(dims, ranges, given)
    values = m.evaluate(dims, ranges, given, check=False)
    return [(tuple(d), tuple(e)) for d, e in zip(dims[inside].tolist(), values[inside].tolist(), strict=True)]


def all_pairs(members: Iterable[hm.IndexingMap], runtime: tuple[int, ...] = ()) -> set[Pair]:
    return {pair for m in members for pair in pairs(m, runtime)}


def elements(members: Iterable[hm.IndexingMap], runtime: tuple[int, ...] = ()) -> set[tuple[int, ...]]:
    return {element for _, element in all_pairs(members, runtime)}
