"""Counts the elements that several maps reach together.

:func:`count_union` is the entry point.  Invariant: ``lower <= true number <= upper``.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Count, IndexingMap, _count, bounds_many
from .map_set import MapSet
from .subtract import find_meeting, subtract

__all__ = ["UNBOUNDED", "count_union"]

UNBOUNDED = (1 << 128) - 1
"""The upper bound of a count of which nothing is known."""


def count_union(maps: Sequence[IndexingMap]) -> Count:
    """The elements of a union: of each map those that the ones before it do not reach.

    They are at most those of a box that holds all of them.

    >>> a = IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 3]")
    >>> b = IndexingMap.parse("(d0) -> (d0 + 2), domain: d0 in [0, 3]")
    >>> count_union([a, b]).lower, count_union([a, b]).upper
    (6, 6)
    """
    counts = [m.count(distinct=True) for m in maps]
    least = max((count.lower for count in counts), default=0)
    most = min(sum(count.upper for count in counts), UNBOUNDED)
    most = min(most, _box(maps)) if least < most else most
    images = list(MapSet(maps).image().simplify()) if least < most else []
    if not images:
        return _count(least, most)
    before: set[IndexingMap] = set()
    lower, upper = 0, 0
    for m, meeting in zip(images, find_meeting(images, images), strict=True):
        rest = subtract(m, [other for other in meeting if other in before])
        parts = [part.count(distinct=True) for part in ([m] if isinstance(rest, str) else rest)]
        upper += min(m.count(distinct=True).upper, sum(count.upper for count in parts))
        lower += 0 if isinstance(rest, str) else sum(count.lower for count in parts)
        before.add(m)
    return _count(max(least, lower), min(most, upper))


def _box(maps: Sequence[IndexingMap]) -> int:
    """The elements of the smallest box that all maps are known to stay in."""
    reached = [m for m in maps if not m.is_known_empty]
    if any(m.is_undefined for m in reached):
        return UNBOUNDED
    n = 1 if reached else 0
    try:
        for results in zip(*bounds_many(reached), strict=True):
            n *= max(upper for _, upper in results) - min(lower for lower, _ in results) + 1
    except OverflowError:
        return UNBOUNDED
    return n
