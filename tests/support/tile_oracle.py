"""Every tile of every candidate enumerated.

:class:`Enumerated` holds all points of one read.  Nothing here knows how tiles are computed: it evaluates maps at
points and sorts the values by tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

import hlomap as hm
from support.map_pairs import points

Rng = np.random.Generator
Ints = npt.NDArray[np.int64]


class Enumerated:
    """All points of a map from parameters of the given sizes, with the elements that they reach."""

    def __init__(self, m: hm.IndexingMap, sizes: Sequence[int], runtime: Sequence[int] = ()) -> None:
        self.points, elements = points(m, runtime)
        self.elements: Ints = elements.reshape(len(self.points), len(m.results))
        self.runtime = dict(enumerate(runtime))
        used = {name for e in [*m.results, *(c.expr for c in m.constraints)] for name in _names(str(e))}
        self.depends = [
            f"d{k}" in used or d.lower > 0 or d.upper + 1 < n
            for k, (d, n) in enumerate(zip(m.dims, sizes, strict=True))
        ]

    def tiles(self, candidate: Sequence[int]) -> dict[tuple[int, ...], Ints]:
        """The different elements of every tile that reaches any."""
        ids = self.points // np.array(candidate, np.int64) if len(candidate) else self.points
        rows = np.concatenate([ids, self.elements], axis=1)
        low = rows.min(axis=0, initial=0)
        keys = np.ravel_multi_index(tuple((rows - low).T), rows.max(axis=0, initial=0) - low + 1)
        rows = rows[np.unique(keys, return_index=True)[1]]
        ids, elements = rows[:, : len(candidate)], rows[:, len(candidate) :]
        first = np.flatnonzero((np.diff(ids, axis=0) != 0).any(axis=1)) + 1
        starts = [0, *first.tolist()] if len(rows) else []
        return dict(zip(map(tuple, ids[starts].tolist()), np.split(elements, first), strict=False))


def _names(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()


def progressions(elements: Ints) -> list[tuple[int, int, int]] | None:
    """First value, size and stride of every dimension, where the elements are a box."""
    columns = [np.unique(elements[:, k]) for k in range(elements.shape[1])]
    if prod(len(c) for c in columns) != len(elements):
        return None
    if any(len(c) > 2 and (np.diff(c) != c[1] - c[0]).any() for c in columns):
        return None
    return [(int(c[0]), len(c), int(c[1] - c[0]) if len(c) > 1 else 1) for c in columns]


def tight_box(elements: Ints) -> int:
    """The number of elements of the smallest box with one stride in every dimension."""
    size = 1
    for k in range(elements.shape[1]):
        c = np.unique(elements[:, k])
        stride = int(np.gcd.reduce(np.diff(c))) if len(c) > 1 else 1
        size *= (int(c[-1]) - int(c[0])) // stride + 1
    return size


def inside(box: tuple[tuple[int, ...], ...]) -> set[tuple[int, ...]]:
    """The elements of a box that lie within its bounds."""
    axes = [
        [x for x in (offset + stride * i for i in range(size)) if lower <= x < upper]
        for offset, size, stride, lower, upper in zip(*box, strict=True)
    ]
    return set(product(*axes))
