"""Questions about the elements that maps reach, with a witness: overlap and injectivity.

Read :class:`SetAnswer`, then :func:`overlap`.  Invariant: True and False hold for all values of the runtime variables;
a witness is a point in the domain of each map, and both reach the element.  The search itself is in the compiled core.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._core import IndexingMap, _is_injective, _overlap
from ..errors import UndecidedError
from ..types import one_line
from .map_set import MapSet, as_map_set

__all__ = ["CommonElement", "MapPoint", "SetAnswer", "is_injective", "overlap"]


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


@dataclass(frozen=True, slots=True)
class SetAnswer:
    """The answer to a question about the elements that maps reach, as of :func:`overlap` and ``is_injective``.

    As in :class:`~hlomap.Equivalence`, ``equal`` is ``True``, ``False`` or ``None`` (undecided), ``reason`` explains an
    undecided answer, and ``bool()`` of one raises :class:`~hlomap.errors.UndecidedError`: test ``.equal is True`` or
    ``.equal is not False`` instead.  ``witness`` is an element that two points reach, where the question has one:
    ``witness.element``, and the points ``witness.first`` and ``witness.second``, each with its ``map`` and the values
    of ``dims``, ``ranges`` and ``runtime``.

    The constructor raises ``ValueError`` for an undecided answer without a reason, or with a witness.

    >>> import hlomap as hm
    >>> m = hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")
    >>> bool(m.is_injective()), bool(hm.overlap(m, hm.IndexingMap.identity([20]).image([(3, 3)])))
    (True, False)
    >>> undecided = hm.overlap(m, hm.MapSet.unknown("no rule for sort"))
    >>> undecided
    SetAnswer(equal=None, reason='no rule for sort')
    >>> bool(undecided)
    Traceback (most recent call last):
    hlomap.errors.UndecidedError: undecided: no rule for sort; test `.equal`, which is None
    """

    #: ``True``, ``False``, or ``None`` where it is undecided.
    equal: bool | None
    #: An element that two points reach, or ``None``.
    witness: CommonElement | None = None
    #: Why it is undecided; else ``None``.
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.equal is None) != (self.reason is not None) or (self.equal is None and self.witness is not None):
            raise ValueError("a SetAnswer has a reason where it is undecided, and may have a witness where it is not")

    def __bool__(self) -> bool:
        if self.equal is None:
            raise UndecidedError(f"undecided: {self.reason}; test `.equal`, which is None")
        return self.equal

    def __repr__(self) -> str:
        witness = f", witness={one_line(str(self.witness))!r}" if self.witness is not None else ""
        reason = f", reason={one_line(self.reason)!r}" if self.reason is not None else ""
        return f"SetAnswer(equal={self.equal}{witness}{reason})"


def overlap(a: MapSet | IndexingMap, b: MapSet | IndexingMap) -> SetAnswer:
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
    SetAnswer(equal=False)
    >>> row = hm.IndexingMap.parse("(d0)[s0] -> (d0 * 7 + s0), domain: d0 in [0, 1], s0 in [0, 2]")
    >>> found = hm.overlap(row.image([(1, 1)]), odd).witness
    >>> assert found is not None
    >>> found.element, found.second.dims
    ((7,), (3,))
    """
    first, second = as_map_set(a, "overlap", "a"), as_map_set(b, "overlap", "b")
    for one, other in ((first, second), (second, first)):
        if one.is_unknown:
            is_empty = not other.is_unknown and all(m.is_empty().equal is True for m in other)
            return SetAnswer(False) if is_empty else SetAnswer(None, reason=one.reason or "unknown")
    undecided: str | None = None
    for leaf in dict.fromkeys(m.index for m in first):
        left, right = ([m for m in one if m.index == leaf] for one in (first, second))
        meets, found, reason = _overlap(left, right)
        if found is not None:
            i, j, element, here, there = found
            inexact = _why_not_proved(first, second)
            if inexact is not None:
                return SetAnswer(None, reason=inexact)
            points = MapPoint(left[i], *map(tuple, here)), MapPoint(right[j], *map(tuple, there))
            return SetAnswer(meets, CommonElement(tuple(element), *points))
        undecided = undecided or reason
    return SetAnswer(False) if undecided is None else SetAnswer(None, reason=undecided)


def _why_not_proved(first: MapSet, second: MapSet) -> str | None:
    """Why an element that maps of both sets reach may not be an element of both images; None where it is."""
    for one in (first, second):
        if not one.exact:
            return f"a set is over-approximate: {one.reason}" if one.reason else "a set is over-approximate"
    if first.devices is not None and second.devices is not None:
        return "the element may be on different devices"
    return None


def is_injective(m: IndexingMap) -> SetAnswer:
    """:meth:`IndexingMap.is_injective`."""
    injective, found, reason = _is_injective(m)
    if found is None:
        return SetAnswer(injective, reason=reason)
    _, _, element, first, second = found
    points = MapPoint(m, *map(tuple, first)), MapPoint(m, *map(tuple, second))
    return SetAnswer(injective, CommonElement(tuple(element), *points))


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))
