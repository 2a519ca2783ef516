"""Counts the elements that several maps reach together.

:func:`count_union` is the entry point.  Invariant: ``lower <= true number <= upper``.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Count, IndexingMap, _count
from .map_set import MapSet

__all__ = ["UNBOUNDED", "count_union"]

UNBOUNDED = (1 << 128) - 1
"""The upper bound of a count of which nothing is known."""


def count_union(maps: Sequence[IndexingMap]) -> Count:
    """The elements of a union: of each map those that the ones before it do not reach.

    >>> a = IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 3]")
    >>> b = IndexingMap.parse("(d0) -> (d0 + 2), domain: d0 in [0, 3]")
    >>> count_union([a, b]).lower, count_union([a, b]).upper
    (6, 6)
    """
    least, lower, upper = 0, 0, 0
    for k, m in enumerate(maps):
        own = m.count(distinct=True)
        rest = MapSet([m]).subtract_elements(MapSet(maps[:k])) if k else MapSet([m])
        counts = [part.count(distinct=True) for part in rest] if k else [own]
        least = max(least, own.lower)
        upper += min(own.upper, sum(count.upper for count in counts))
        if rest.exact:
            lower += sum(count.lower for count in counts)
    return _count(max(least, lower), min(upper, UNBOUNDED))
