"""Counts the points of the maps of a set, in all and those that reach an element, and the elements that they reach.

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

_CHUNK = 256  # images that are held against those before them at once; the effort may end before the last

UNBOUNDED = (1 << 128) - 1
"""The upper bound of a count of which nothing is known."""


def count_of(maps: MapSet, distinct: bool) -> Count:
    """:meth:`MapSet.count`; with ``distinct`` of each map the elements that the ones before it do not reach.

    Those of an array are at most those of a box that holds all of them.
    """
    if maps.is_unknown:
        return Count(0, UNBOUNDED)
    counts = map(count_array, maps._by_array().values()) if distinct else (m.count() for m in maps)
    found = sum(counts, Count(0, 0))
    return found if maps.exact else Count(0, found.upper)


def count_array(maps: MapSet) -> Count:
    """The elements that maps to one array reach, whether the set has more maps than it should or not.

    Each map counts once, and the hard ones for several; past the effort a map has as many elements as its box of points
    at most, and nothing is known of the elements that it shares with others.
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
    """Bounds on the elements of all images: those of each one that the ones before it do not reach, added up."""
    before: set[IndexingMap] = set()
    lower, upper = 0, 0
    for begin in range(0, len(images), _CHUNK):
        chunk = images[begin : begin + _CHUNK]
        for m, meeting in zip(chunk, find_meeting(chunk, images[: begin + _CHUNK]), strict=True):
            if not effort.spend():
                # Each image that follows may have all of its elements for itself.
                return lower, upper + sum(_points(m) for m in images[len(before) :])
            rest = subtract(m, [other for other in meeting if other in before], effort)
            parts = [part.count(distinct=True) for part in ([m] if isinstance(rest, str) else rest)]
            upper += min(m.count(distinct=True).upper, sum(count.upper for count in parts))
            lower += 0 if isinstance(rest, str) else sum(count.lower for count in parts)
            before.add(m)
    return lower, upper


def _points(m: IndexingMap) -> int:
    """The values of all dims and ranges of a map together, constraints aside."""
    n = 1
    for v in (*m.dims, *m.ranges):
        n *= max(0, v.upper - v.lower + 1)
    return min(n, UNBOUNDED)


def _box(maps: Iterable[IndexingMap]) -> int:
    """The elements of the smallest box that all maps are known to stay in."""
    reached = [m for m in maps if not m.is_known_empty]
    n = 1 if reached else 0
    try:
        for results in zip(*bounds_many(reached), strict=True):
            n *= max(upper for _, upper in results) - min(lower for lower, _ in results) + 1
    except OverflowError:
        return UNBOUNDED
    return n


def count_reads(maps: Iterable[IndexingMap], elements: npt.NDArray[np.int64]) -> npt.NDArray[np.float64] | None:
    """How many points of the maps reach each of ``[n, rank]`` elements; None where one of the numbers is not known.

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
