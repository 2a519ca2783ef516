"""Counts the points of the maps of a set, the points that reach an element, and the reached elements.

``lower <= true number <= upper``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .._core import Count, IndexingMap, bounds_many, count_many, simplify_many
from ..base.lazy import np, npt
from .subtract import MAX_WORK, Effort, find_meeting, subtract
from .variables import with_conditions

if TYPE_CHECKING:
    from .map_set import MapSet

_CHUNK = 256  # images that are compared with earlier ones in one batch; the budget may end within a batch

UNBOUNDED = (1 << 128) - 1
"""The upper bound of a count if nothing is known about it."""


def count_of(maps: MapSet, distinct: bool) -> Count:
    """:meth:`MapSet.count`; with ``distinct`` each map counts only elements that earlier maps do not reach.

    The elements of an array are at most those of the smallest box around them.
    """
    if maps.is_unknown:
        return Count(0, UNBOUNDED)
    counts = map(count_array, maps._by_array().values()) if distinct else (m.count() for m in maps)
    found = sum(counts, Count(0, 0))
    return found if maps.exact else Count(0, found.upper)


def count_array(maps: MapSet) -> Count:
    """The elements that maps to one array reach, whether or not the set is exact.

    Each map costs one unit of the budget, and hard maps several.  Once the budget is spent, the upper bound of a map is
    the size of its box of points, and elements that it shares with other maps are not known.
    """
    effort = Effort(MAX_WORK + len(maps))
    counts = [m.count(distinct=True) if effort.spend() else Count(0, _points(m)) for m in maps]
    least = max([count.lower for count in counts], default=0)
    most = min(sum([count.upper for count in counts]), UNBOUNDED)
    most = min(most, _box(maps)) if least < most else most
    images = list(maps.image().simplify()) if least < most else []
    if not images:
        return Count(least, most)
    lower, upper = _count_apart(images, Effort(2 * MAX_WORK))
    return Count(max(least, lower), min(most, upper))


def _count_apart(images: Sequence[IndexingMap], effort: Effort) -> tuple[int, int]:
    """Bounds on the elements of all images: the sum of the elements of each image that earlier images do not reach."""
    before: set[IndexingMap] = set()
    lower, upper = 0, 0
    for begin in range(0, len(images), _CHUNK):
        chunk = images[begin : begin + _CHUNK]
        for m, meeting in zip(chunk, find_meeting(chunk, images[: begin + _CHUNK]), strict=True):
            if not effort.spend():
                # Each later image may share no element with others.
                return lower, upper + sum(_points(m) for m in images[len(before) :])
            rest = subtract(m, [other for other in meeting if other in before], effort)
            parts = [part.count(distinct=True) for part in ([m] if isinstance(rest, str) else rest)]
            upper += min(m.count(distinct=True).upper, sum(count.upper for count in parts))
            lower += 0 if isinstance(rest, str) else sum(count.lower for count in parts)
            before.add(m)
    return lower, upper


def _points(m: IndexingMap) -> int:
    """The number of values of all dims and ranges of a map together, ignoring constraints."""
    n = 1
    for v in (*m.dims, *m.ranges):
        n *= max(0, v.upper - v.lower + 1)
    return min(n, UNBOUNDED)


def _box(maps: Iterable[IndexingMap]) -> int:
    """The number of elements in the smallest known box around the results of all maps."""
    reached = [m for m in maps if not m.is_known_empty]
    n = 1 if reached else 0
    try:
        for results in zip(*bounds_many(reached), strict=True):
            n *= max(upper for _, upper in results) - min(lower for lower, _ in results) + 1
    except OverflowError:
        return UNBOUNDED
    return n


def count_reads(maps: Iterable[IndexingMap], elements: npt.NDArray[np.int64]) -> npt.NDArray[np.float64] | None:
    """The number of points of the maps that reach each of ``[n, rank]`` elements; None if a number is not known.

    >>> m = IndexingMap.parse("(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 7], d1 in [0, 31], s0 in [0, 15]")
    >>> count_reads([m], np.array([[3, 5], [9, 0]])).tolist()
    [32.0, 0.0]
    """
    total = np.zeros(len(elements))
    for m in maps:
        if m.is_known_empty:
            continue
        if m.is_undefined or len(m.results) != elements.shape[1]:
            return None
        near = np.ones(len(elements), np.bool_)
        for k, (lower, upper) in enumerate(m.bounds(k) for k in range(len(m.results))):
            near &= (lower <= elements[:, k]) & (elements[:, k] <= upper)
        reaching = [
            with_conditions(m, ((result, i, i) for result, i in zip(m.results, element, strict=True)))
            for element in elements[near].tolist()
        ]
        counts = count_many(simplify_many(reaching))
        if not all(count.exact for count in counts):
            return None
        total[near] += [count.lower for count in counts]
    return total
