"""Decides whether one map contains another.

:func:`contains` is the entry point.  Invariant: True and False are proven, None is undecided.
What compiled code leaves open is decided by comparing the points, if there are few.
"""

from __future__ import annotations

import numpy as np

from .._core import IndexingMap, _contains
from .enumerate_pairs import EnumerationLimitError, enumerate_points

_MAX_POINTS = 1 << 14

_MAX_POINTS_IN_ALL = 1 << 20

_Pairs = frozenset[tuple[int, ...]]


def contains(outer: IndexingMap, inner: IndexingMap) -> bool | None:
    """Whether ``outer`` relates every point of the dimensions to all elements that ``inner`` relates it to.

    >>> whole = IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 7]")
    >>> contains(whole, IndexingMap.parse("(d0) -> (d0 + 3), domain: d0 in [0, 4]"))
    True
    >>> contains(whole, IndexingMap.parse("(d0) -> (d0 + 4), domain: d0 in [0, 4]"))
    False
    """
    return Containment().contains(outer, inner)


class Containment:
    """Decides :func:`contains` for many pairs of the same maps: each map is enumerated at most once."""

    def __init__(self) -> None:
        self._pairs: dict[IndexingMap, _Pairs | None] = {}
        self._n_left = _MAX_POINTS_IN_ALL

    def contains(self, outer: IndexingMap, inner: IndexingMap) -> bool | None:
        """As the function; points are compared until the maps have too many in all."""
        if inner.is_known_empty or outer == inner:
            return True
        if len(outer.dims) != len(inner.dims):
            return False
        if outer.is_known_empty:
            return inner.is_empty().value
        if len(outer.results) != len(inner.results):
            return False
        known = _contains(outer, inner)
        if known is not None:
            return known
        of_outer = self._enumerate(outer)
        of_inner = None if of_outer is None else self._enumerate(inner)
        return None if of_outer is None or of_inner is None else of_inner <= of_outer

    def _enumerate(self, m: IndexingMap) -> _Pairs | None:
        if m not in self._pairs:
            self._pairs[m] = pairs = None if m.runtime else _enumerate(m, min(_MAX_POINTS, self._n_left))
            self._n_left -= len(pairs or ())
        return self._pairs[m]


def _enumerate(m: IndexingMap, limit: int) -> _Pairs | None:
    """The dimensions and results of all points; None where they are too many or negative."""
    try:
        source = [v.upper + 1 for v in m.dims]
        target = [m.bounds(i)[1] + 1 for i in range(len(m.results))]
        at, image = enumerate_points(m, source, target, {}, limit)
    except (EnumerationLimitError, ValueError, OverflowError):
        return None
    return frozenset(map(tuple, np.concatenate([at, image], axis=1).tolist()))
