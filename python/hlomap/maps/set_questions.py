"""Questions about map sets: overlap, injectivity, emptiness, containment and equivalence, and the values at points.

Map sets have them as methods.  True and False hold for all values of the runtime variables; a witness is a point in the
domain of each map, and both reach the element.  The compiled core searches; a containment that it leaves open is
decided by comparing points, if there are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .._core import IndexingMap, _covers as _core_covers, _is_injective, _overlap
from ..base.answers import Answer
from ..base.lazy import np, npt
from ..base.types import ShapeIndex
from ..errors import DomainError, MapError, ShapeError
from .device_groups import bring_to_common_table
from .enumerate_pairs import EnumerationLimitError, enumerate_points
from .subtract import Effort, find_meeting, subtract

if TYPE_CHECKING:
    from .map_set import MapSet


class MapPoint(NamedTuple):
    """A point in the domain of a map: a value for each of its variables.

    ``map.evaluate(dims, ranges, runtime)`` is the element that the point reaches.
    """

    #: The map.
    map: IndexingMap
    #: The values of the dims.
    dims: tuple[int, ...]
    #: The values of the range variables.
    ranges: tuple[int, ...] = ()
    #: The values of the runtime variables for which the point reaches the element.
    runtime: tuple[int, ...] = ()

    def __str__(self) -> str:
        ranges = f"[{_listed(self.ranges)}]" if self.ranges else ""
        runtime = f"{{{_listed(self.runtime)}}}" if self.runtime else ""
        return f"({_listed(self.dims)}){ranges}{runtime}"


class CommonElement(NamedTuple):
    """An element that two points reach.

    For other values of the runtime variables the two points reach another common element.
    """

    #: The element: an index in each dimension.
    element: tuple[int, ...]
    #: A point that reaches it, of the first map or set.
    first: MapPoint
    #: Another one, of the second map or set, or of the same map.
    second: MapPoint

    def __str__(self) -> str:
        return f"({_listed(self.element)}) from {self.first} and {self.second}"


class MissingElement(NamedTuple):
    """An element that one set reaches from a point, and that another set lacks there."""

    #: The element: an index in each dimension.
    element: tuple[int, ...]
    #: The point that reaches it: a value for each dim; ``()`` for an image.
    dims: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"({_listed(self.element)})" + (f" from ({_listed(self.dims)})" if self.dims else "")


def overlap(first: MapSet, second: MapSet) -> Answer[CommonElement]:
    """:meth:`MapSet.overlap`."""
    for one, other in ((first, second), (second, first)):
        if one.is_unknown:
            is_empty = not other.is_unknown and all(m.is_empty().value is True for m in other)
            return Answer(False) if is_empty else Answer(None, reason=one.reason or "unknown")
    undecided: str | None = None
    others = second._by_array()
    for shape_index, maps in first._by_array().items():
        left, right = list(maps), list(others.get(shape_index, ()))
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


def is_injective(maps: MapSet) -> Answer[CommonElement]:
    """:meth:`MapSet.is_injective`: no map reaches an element from two points, and no two maps reach the same
    element."""
    if maps.is_unknown:
        return Answer(None, reason=maps.reason or "unknown")
    arrays = [list(own) for own in maps._by_array().values()]
    injective, found, reason = _is_injective(arrays)
    if found is None:
        return Answer(injective, reason=reason)
    inexact = _why_not_proved(maps, maps)
    if inexact is not None:
        return Answer(None, reason=inexact)
    numbered = [m for own in arrays for m in own]
    points = (MapPoint(numbered[i], *map(tuple, at)) for i, at in zip(found[:2], found[3:], strict=True))
    return Answer(False, CommonElement(tuple(found[2]), *points))


def is_empty(maps: MapSet) -> Answer[tuple[int, ...]]:
    """:meth:`MapSet.is_empty`."""
    if maps.is_unknown:
        return Answer(None, reason=maps.reason or "unknown")
    effort, undecided = Effort(), list[str | None]()
    for m in maps:
        answer = m.is_empty() if effort.spend(0) else Answer(None, reason=_NOT_DECIDED)
        if answer.value is False:
            return Answer(False) if maps.exact else Answer(None, reason=why_over_approximate(maps))
        if answer.value is None:
            undecided.append(answer.reason)
    return Answer(None, reason=undecided[0]) if undecided else Answer(True)


def covers(outer: MapSet, inner: MapSet) -> Answer[MissingElement]:
    """:meth:`MapSet.covers`."""
    if outer.is_unknown or inner.is_unknown:
        return Answer(True) if outer.is_unknown else Answer(None, reason=inner.reason or "unknown")
    expect_alike(outer, inner, "covers()")
    others = outer._by_array()
    groups = [
        ([k for k in others.get(at, ()) if not k.is_known_empty], list(own)) for at, own in inner._by_array().items()
    ]
    missing, open_maps, reason = _core_covers(groups)
    if reason is not None:
        return Answer(None, reason=reason)
    if missing is not None:
        group, i, values = missing
        return _lacks(_missing(groups[group][1][i], values))
    effort, containment = Effort(), Containment()
    is_open = False
    for (maps, own), undecided in zip(groups, open_maps, strict=False):
        meeting = find_meeting([own[i] for i, _ in undecided], maps)
        for (i, numbers), union in zip(undecided, meeting, strict=True):
            alone = [containment.find_missing(maps[k], own[i]) if effort.spend() else None for k in numbers]
            found = alone[0] if len(maps) == 1 else _find_missing(union, own[i], effort) if True not in alone else True
            if isinstance(found, MissingElement) or found is False:
                return _lacks(found or None)
            is_open = is_open or found is None
    if (common := bring_to_common_table([outer, inner])) is not None:
        on_devices = None if isinstance(common, str) else covers(*common[1]).value
        if on_devices is False:
            return _lacks(None)
        is_open = is_open or on_devices is None
    return Answer(None, reason="containment is not proved") if is_open else Answer(True)


def _lacks(witness: MissingElement | None) -> Answer[MissingElement]:
    return Answer(False, witness, "the other set has pairs that this one lacks" if witness is None else None)


def _missing(m: IndexingMap, values: Sequence[int] | None = None) -> MissingElement | None:
    """The element of a point of a map, given the values of its dims and ranges, or of any point that is found."""
    if values is None:
        _, found, _ = _overlap([m], [m])
        return None if found is None else MissingElement(tuple(found[2]), tuple(found[3][0]))
    n_dims = len(m.dims)
    dims, ranges = tuple(values[:n_dims]), values[n_dims : n_dims + len(m.ranges)]
    return MissingElement(tuple(m.evaluate(dims, ranges).tolist()), dims)


def _find_missing(maps: Sequence[IndexingMap], m: IndexingMap, effort: Effort) -> MissingElement | bool | None:
    """A pair of a map that the union of others lacks, or False if it lacks an unknown one; True if it lacks none."""
    remaining = subtract(m, maps, effort)
    if isinstance(remaining, str):
        return None
    is_open = False
    for part in remaining:
        is_empty = part.is_empty().value if effort.spend() else None
        if is_empty is False:
            return _missing(part) or False
        is_open = is_open or is_empty is None
    return None if is_open else True


def equivalent(first: MapSet, second: MapSet) -> Answer[tuple[int, ...]]:
    """:meth:`MapSet.equivalent`."""
    sets = first, second
    for one in sets:
        if one.is_unknown:
            return Answer(None, reason=one.reason or "unknown")
    expect_alike(first, second, "equivalent()")
    if all(len(one) == 1 and one.exact and one.devices is None for one in sets):
        m, k = first[0], second[0]
        if m.shape_index == k.shape_index and len(m.dims) == len(k.dims):
            return m.equivalent(k)
    answers = [covers(first, second), covers(second, first)]
    for inner, answer in zip(reversed(sets), answers, strict=True):
        if inner.exact and answer.value is False:
            return Answer(False, reason="one set has pairs that the other lacks")
    for one in sets:
        if not one.exact:
            return Answer(None, reason=why_over_approximate(one))
    undecided = next((answer.reason for answer in answers if answer.value is None), None)
    return Answer(True) if undecided is None else Answer(None, reason=undecided)


def expect_alike(a: MapSet, b: MapSet, operation: str) -> None:
    """Raises unless all maps have equally many dims, and maps to the same array equally many results."""
    maps = [*a._nonempty(), *b._nonempty()]
    by_shape_index: dict[ShapeIndex, set[int]] = {}
    for m in maps:
        by_shape_index.setdefault(m.shape_index, set()).add(len(m.results))
    for what, numbers in [
        ("dims", {len(m.dims) for m in maps}),
        *(("results", found) for found in by_shape_index.values()),
    ]:
        if len(numbers) > 1:
            found = " and ".join(map(str, sorted(numbers)))
            hint = "; compare the elements of a.image() and b.image()" if what == "dims" else ""
            raise ShapeError(f"{operation} compares maps with equal numbers of {what}, found {found} {what}{hint}")


def evaluate(
    maps: MapSet,
    dims: npt.ArrayLike,
    ranges: npt.ArrayLike | None,
    runtime: npt.ArrayLike | None,
    *,
    check: bool,
    threads: int,
) -> npt.NDArray[np.int64]:
    """:meth:`MapSet.evaluate`."""
    if maps.is_unknown:
        raise MapError(f"cannot evaluate an unknown set: {maps.reason}")
    if len({m.shape_index for m in maps}) > 1:
        raise MapError("the maps of the set reach several arrays; evaluate the maps with one `shape_index`")
    members = maps._nonempty() or tuple(maps)
    if not members:
        shape = np.shape(dims)[:-1]
        if check and 0 not in shape:
            raise DomainError("point 0 lies outside the domain: the set is empty")
        return np.zeros((*shape, 0), np.int64)
    expect_alike(maps, maps, "evaluate()")
    first, *others = members
    if not others:
        return first.evaluate(dims, ranges, runtime, check=check, threads=threads)
    found = first.evaluate(dims, ranges, runtime, check=False, threads=threads)
    is_found = np.asarray(first.in_domain(dims, ranges, runtime))
    for m in others:
        own = m.evaluate(dims, ranges, runtime, check=False, threads=threads)
        inside = np.asarray(m.in_domain(dims, ranges, runtime))
        differs = inside & is_found & (own != found).any(axis=-1)
        if differs.any():
            at = int(np.argmax(differs))
            raise MapError(f"point {at} has several elements in the set; image() of the point has them all")
        found, is_found = np.where(inside[..., None], own, found), is_found | inside
    if check and not np.all(is_found):
        raise DomainError(f"point {int(np.argmin(is_found))} lies outside the domains of all maps of the set")
    return found


def _why_not_proved(first: MapSet, second: MapSet) -> str | None:
    """Why an element that maps of both sets reach may not be an element of both images; None if it is."""
    for one in (first, second):
        if not one.exact:
            return why_over_approximate(one)
    if first.devices is not None and second.devices is not None:
        return "the element may be on different devices"
    return None


def why_over_approximate(maps: MapSet) -> str:
    """The reason of a set that is not exact."""
    return f"a set is over-approximate: {maps.reason}" if maps.reason else "a set is over-approximate"


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


_NOT_DECIDED = "not decided within the effort for one question"

_MAX_POINTS = 1 << 14

_MAX_POINTS_IN_ALL = 1 << 20

_Pairs = frozenset[tuple[int, ...]]


class Containment:
    """Decides by enumerating each map once whether maps contain the pairs of other maps.

    >>> whole = IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 7]")
    >>> own = (IndexingMap.parse(f"(d0) -> (d0 + {n}), domain: d0 in [0, 4]") for n in (3, 4))
    >>> [Containment().find_missing(whole, m) for m in own]
    [True, MissingElement(element=(8,), dims=(4,))]
    """

    def __init__(self) -> None:
        self._pairs: dict[IndexingMap, _Pairs | None] = {}
        self._n_left = _MAX_POINTS_IN_ALL

    def find_missing(self, outer: IndexingMap, inner: IndexingMap) -> MissingElement | bool | None:
        """The first pair of ``inner`` that ``outer`` lacks, or True; None once the maps have too many points in
        total."""
        of_outer = self._enumerate(outer)
        of_inner = None if of_outer is None else self._enumerate(inner)
        if of_outer is None or of_inner is None:
            return None
        n_dims = len(inner.dims)
        missing = min(of_inner - of_outer, default=None)
        return True if missing is None else MissingElement(missing[n_dims:], missing[:n_dims])

    def _enumerate(self, m: IndexingMap) -> _Pairs | None:
        if m not in self._pairs:
            self._pairs[m] = pairs = None if m.runtime else _enumerate(m, min(_MAX_POINTS, self._n_left))
            self._n_left -= len(pairs or ())
        return self._pairs[m]


def _enumerate(m: IndexingMap, limit: int) -> _Pairs | None:
    """The dimensions and results of all points; None if they are too many or negative."""
    try:
        source = [v.upper + 1 for v in m.dims]
        target = [m.bounds(i)[1] + 1 for i in range(len(m.results))]
        at, image = enumerate_points(m, source, target, {}, limit)
    except (EnumerationLimitError, ValueError, OverflowError):
        return None
    return frozenset(map(tuple, np.concatenate([at, image], axis=1).tolist()))
