"""Questions about the elements that maps reach, with a witness: overlap and injectivity.

Read :func:`overlap`.  Invariant: True and False hold for all values of the runtime variables;
a witness is a point in the domain of each map, and both reach the element.  The search itself is in the compiled core.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._core import IndexingMap, _is_injective, _overlap
from ..answers import Answer
from .map_set import MapSet, as_map_set

__all__ = ["CommonElement", "MapPoint", "is_injective", "overlap"]


@dataclass(frozen=True, slots=True)
class MapPoint:
    """A point in the domain of a map: a value for each of its variables.

    ``map.evaluate(dims, ranges, runtime)`` is the element that the point reaches.
    """

    #: The map.
    map: IndexingMap
    #: The values of the dims.
    dims: tuple[int, ...]
    #: The values of the range variables.
    ranges: tuple[int, ...] = ()
    #: The values of the runtime variables at which the element is the one that is reached.
    runtime: tuple[int, ...] = ()

    def __str__(self) -> str:
        ranges = f"[{_listed(self.ranges)}]" if self.ranges else ""
        runtime = f"{{{_listed(self.runtime)}}}" if self.runtime else ""
        return f"({_listed(self.dims)}){ranges}{runtime}"


@dataclass(frozen=True, slots=True)
class CommonElement:
    """An element that two points reach.

    With other values of the runtime variables the two points reach another common element.
    """

    #: The element: an index in each dimension.
    element: tuple[int, ...]
    #: A point that reaches it, of the first map or set.
    first: MapPoint
    #: Another one, of the second map or set, or of the same map.
    second: MapPoint

    def __str__(self) -> str:
        return f"({_listed(self.element)}) from {self.first} and {self.second}"


def overlap(a: MapSet | IndexingMap, /, b: MapSet | IndexingMap) -> Answer[CommonElement]:
    """Whether some element is in the images of both: one that a map of ``a`` reaches, and a map of ``b``.

    The dims of the two may differ; the results are an index in the same array.  Maps with different shape indices
    reach different arrays.  The witness of ``True`` is the element, and a point of either that reaches it.

    The answer holds for all values of the runtime variables.  It is undecided where it depends on them, where the
    search takes too long, where a set is unknown, and where an over-approximate set meets the other one: what they
    share may be an element that is not reached.  Sets that both cross devices may meet on different devices; that is
    undecided, too.

    Raises :class:`~hlomap.errors.MapError` where maps to the same array have different numbers of results, and
    ``TypeError`` for anything but a map or a set of maps.

    >>> import hlomap as hm
    >>> even = hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")
    >>> odd = hm.IndexingMap.parse("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 9]")
    >>> hm.overlap(even, odd)
    Answer(False)
    >>> row = hm.IndexingMap.parse("(d0)[s0] -> (d0 * 7 + s0), domain: d0 in [0, 1], s0 in [0, 2]")
    >>> found = hm.overlap(row.image([(1, 1)]), odd).witness
    >>> assert found is not None
    >>> found.element, found.second.dims
    ((7,), (3,))
    """
    first, second = as_map_set(a, "overlap", "a"), as_map_set(b, "overlap", "b")
    for one, other in ((first, second), (second, first)):
        if one.is_unknown:
            is_empty = not other.is_unknown and all(m.is_empty().value is True for m in other)
            return Answer(False) if is_empty else Answer(None, reason=one.reason or "unknown")
    undecided: str | None = None
    for leaf in dict.fromkeys(m.shape_index for m in first):
        left, right = ([m for m in one if m.shape_index == leaf] for one in (first, second))
        meets, found, reason = _overlap(left, right)
        if found is not None:
            i, j, element, here, there = found
            inexact = _why_not_proved(first, second)
            if inexact is not None:
                return Answer(None, reason=inexact)
            points = MapPoint(left[i], *map(tuple, here)), MapPoint(right[j], *map(tuple, there))
            return Answer(meets, CommonElement(tuple(element), *points))
        undecided = undecided or reason
    return Answer(False) if undecided is None else Answer(None, reason=undecided)


def _why_not_proved(first: MapSet, second: MapSet) -> str | None:
    """Why an element that maps of both sets reach may not be an element of both images; None where it is."""
    for one in (first, second):
        if not one.exact:
            return f"a set is over-approximate: {one.reason}" if one.reason else "a set is over-approximate"
    if first.devices is not None and second.devices is not None:
        return "the element may be on different devices"
    return None


def is_injective(m: IndexingMap) -> Answer[CommonElement]:
    """:meth:`IndexingMap.is_injective`."""
    injective, found, reason = _is_injective(m)
    if found is None:
        return Answer(injective, reason=reason)
    _, _, element, first, second = found
    points = MapPoint(m, *map(tuple, first)), MapPoint(m, *map(tuple, second))
    return Answer(injective, CommonElement(tuple(element), *points))


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
