"""Map sets: unions of indexing maps that are exact, over-approximate or unknown.

A known set without maps reads nothing.  Members are distinct as (shape index, map) and keep the order of
insertion.  Operations on an unknown set give an unknown set.  HLO operations and maps between devices
(:mod:`hlomap.maps.device_groups`) are in other modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import and_, sub
from typing import Any, TypeAlias

from .._core import Count, Expr, IndexingMap, Instruction, _coalesce, _eliminate_ranges, compose_many
from ..base.answers import Answer, Unknown
from ..base.attached import Image
from ..base.lazy import np, npt
from ..base.text import one_line
from ..base.types import ShapeIndex, expect, wrong_type
from .device_groups import DeviceIndexing, bring_to_common_table, group_table, have_same_groups, rename_sources
from .image import Box, Interval, image_maps, read_box, read_restriction, restrict
from .set_questions import (
    CommonElement,
    MissingElement,
    covers,
    equivalent,
    evaluate,
    expect_alike,
    is_empty,
    is_injective,
    overlap,
)
from .subtract import Effort, find_meeting, intersect, subtract
from .union_count import count_of
from .variables import suppliers_of

Use: TypeAlias = tuple[Instruction, int]
"""A user of a value, and the number of the operand that is the value."""

_Key: TypeAlias = tuple[ShapeIndex, IndexingMap]
"""The identity of a member: its shape index and its map."""


class MapSet(Image):
    """A union of indexing maps between the elements of two values.

    Each member has the shape index of its target array (``.shape_index``) and its first use in text order (``.use``).
    A set with an undefined map is unknown.

    An :class:`IndexingMap` and a set have the same operations and questions, which accept either as the other operand.
    ``|``, ``&`` and ``-`` combine pairs of a point of the dims and an element that it reaches; to combine elements
    write ``a.image() & b.image()`` and so on.

    >>> MapSet([hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")])
    MapSet(1 map, exact: (d0) -> (d0 + 1), domain: d0 in [0, 3])
    >>> MapSet.unknown("no rule for custom-call").is_unknown
    True
    """

    __slots__ = ("_assumes", "_devices", "_exact", "_maps", "_reason", "_unknown", "_uses")

    def __init__(
        self,
        maps: Iterable[IndexingMap] = (),
        *,
        exact: bool = True,
        reason: str | None = None,
        uses: Mapping[_Key, Iterable[Use]] | None = None,
        devices: DeviceIndexing | None = None,
        assumes: str | None = None,
    ) -> None:
        try:
            given = iter(maps)
        except TypeError:
            raise wrong_type("MapSet", "a sequence of IndexingMap", maps) from None
        members = tuple(given)
        own_uses: Mapping[_Key, tuple[Use, ...]] | None = None
        is_known = True
        for m in members:
            if not isinstance(m, IndexingMap):
                raise wrong_type("MapSet", "a sequence of IndexingMap", m, "as an item")
            is_known = is_known and not m.is_undefined
        if uses is not None:
            expect(Mapping, uses, "MapSet", "a mapping from (shape index, map) to uses as `uses`")
        if uses is not None or len(members) > 1:
            kept: dict[_Key, IndexingMap] = {}
            for m in members:
                kept.setdefault((m.shape_index, m), m)
            if uses is not None:
                own_uses = {key: tuple(found) for key, found in uses.items() if key in kept}
            elif len(kept) < len(members):
                own_uses = _uses_of(members)
            members = tuple(kept.values())
        self._maps = members if is_known else ()
        self._uses = own_uses if is_known else {}
        self._exact = exact and is_known
        self._reason = reason if is_known else "nothing is known about an undefined map"
        self._unknown = not is_known
        self._devices = devices if is_known else None
        self._assumes = assumes

    @classmethod
    def unknown(cls, reason: str) -> MapSet:
        """The unknown set, with the reason why nothing is known.

        >>> MapSet.unknown("no rule for sort").reason
        'no rule for sort'
        """
        maps = cls(exact=False, reason=reason)
        maps._unknown = True
        return maps

    @property
    def exact(self) -> bool:
        """Whether the union has exactly the pairs of the operation's definition; otherwise it may have more."""
        return self._exact

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known: the set has no maps, and any element may be read."""
        return self._unknown

    @property
    def reason(self) -> str | None:
        """The reason why the set is unknown or not exact."""
        return self._reason

    @property
    def assumes(self) -> str | None:
        """The assumption under which elements without influence are left out; None if the set has all elements.

        Set by queries with ``used=True``.
        """
        return self._assumes

    @property
    def devices(self) -> DeviceIndexing | None:
        """The maps between devices, if elements cross devices; None if all elements stay on their device.

        If not None, each map of this set relates elements on some pair of devices, without saying which pair.
        Composing two such sets over-approximates; ``devices.maps`` keep their exactness, or are unknown.
        """
        return self._devices

    def _all_uses(self) -> Mapping[_Key, tuple[Use, ...]]:
        """All uses of each member that has one, collected from the maps on first access."""
        if self._uses is None:
            self._uses = _uses_of(self._maps)
        return self._uses

    def uses(self, member: IndexingMap) -> tuple[Use, ...]:
        """All uses of a member, in text order.

        >>> MapSet().uses
        <bound method MapSet.uses of MapSet(no map, exact)>
        """
        return self._all_uses().get((tuple(member.shape_index), member), ())

    def __or__(self, other: MapSet | IndexingMap) -> MapSet:
        """The members of both sets; exact if both are, unknown if one is."""
        return union([self, as_map_set(other)]) if isinstance(other, MapSet | IndexingMap) else NotImplemented

    def __and__(self, other: MapSet | IndexingMap) -> MapSet:
        """The pairs (point, element) that both sets have; different shape indices never match.

        The result is over-approximate, with a reason, if a set is over-approximate or unknown, if the sets cross
        devices, or if the intersection takes too many comparisons of maps; it is unknown if both sets are unknown.
        Raises :class:`~hlomap.errors.ShapeError` for other dims.

        >>> twos = hm.IndexingMap.parse("()[s0] -> (s0 * 2), domain: s0 in [0, 15]")
        >>> threes = hm.IndexingMap.parse("()[s0] -> (s0 * 3), domain: s0 in [0, 10]")
        >>> print(MapSet([twos]) & threes)
        ()[s0] -> (s0 * 6), domain: s0 in [0, 5]
        """
        if not isinstance(other, MapSet | IndexingMap):
            return NotImplemented
        second = as_map_set(other)
        if not self or not second:
            return MapSet()
        if self._unknown or second._unknown:
            known, unknown = (second, self) if self._unknown else (self, second)
            return known._select(known._maps, unknown._reason)
        expect_alike(self, second, "&")
        found = self._change_parts(second, intersect)
        if not found:
            return MapSet()
        devices = _combine_devices([self, second], and_)
        if devices is not None:
            return _with_devices(found._select(found._maps, "the pairs of devices are not known"), devices)
        return found if second._exact else found._select(found._maps, second._reason or "a set is over-approximate")

    def __sub__(self, other: MapSet | IndexingMap) -> MapSet:
        """The pairs (point, element) of this set that the other set does not have.

        The result has disjoint maps for each map of this set; different shape indices never match.  An element remains
        if the other set reaches it only from other points; ``a.image() - b.image()`` removes such elements too.

        If the difference takes too many maps or comparisons, or the other set is not exact, nothing is subtracted: the
        result over-approximates the difference and has a reason.  The difference of an unknown set is unknown.
        Raises :class:`~hlomap.errors.ShapeError` for other dims.

        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> print(MapSet([row]) - own)
        (d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [1, 4], d0 - s0 in [-4, -1]
        (d0)[s0] -> (s0), domain: d0 in [1, 4], s0 in [0, 3], d0 - s0 in [1, 4]
        """
        if not isinstance(other, MapSet | IndexingMap):
            return NotImplemented
        taken = as_map_set(other)
        if self._unknown or not self or not taken:
            return self
        expect_alike(self, taken, "-")
        devices = _combine_devices([self, taken], sub)
        if devices is not None:
            return _with_devices(self._select(self._maps, "elements on other devices are not subtracted"), devices)
        if not taken._exact:
            return self._select(self._maps, "the subtracted set is over-approximate")
        found = self._change_parts(taken, subtract)
        if self._exact and not found._exact and covers(taken, self).value is True:
            return MapSet()  # containment is decided for more maps than have a difference in this form
        return found

    def _change_parts(
        self, other: MapSet, change: Callable[[IndexingMap, Sequence[IndexingMap], Effort], list[IndexingMap] | str]
    ) -> MapSet:
        """Replaces each map by a function of the map and the maps of the other set that it may meet.

        If the function returns a reason, the map stays unchanged.
        """
        parts: list[IndexingMap] = []
        uses: dict[_Key, tuple[Use, ...]] = {}
        reason: str | None = None
        effort, own = Effort(), self._all_uses()
        for m, same_leaf in zip(self._maps, find_meeting(self._maps, other._maps), strict=True):
            shape_index = m.shape_index
            changed = change(m, same_leaf, effort)
            if isinstance(changed, str):
                reason = reason or changed
                changed = [m]
            suppliers = suppliers_of(m).copy()
            for k in same_leaf:
                suppliers |= suppliers_of(k)
            for part in changed:
                parts.append(part._placed(shape_index, m.use, suppliers))
                uses[shape_index, part] = uses.get((shape_index, part), ()) + own.get((shape_index, m), ())
        exact, reason = self._exact and reason is None, self._reason or reason
        return self._replace(parts, exact=exact, reason=reason, uses=uses, devices=None)

    def simplify(self) -> MapSet:
        """The fewest simplified maps that a search finds for the same pairs; different shape indices are never joined.

        Two maps are joined if their bounds are adjacent, if their results continue each other, or if they are blocks
        of a quotient.  Empty maps and maps contained in another one are dropped.  The search is greedy, so a smaller
        set may exist, and it joins maps only if that is proved correct.  A joined map has all uses of its parts.

        >>> pieces = MapSet([
        ...     hm.IndexingMap.parse("(d0) -> (0), domain: d0 in [0, 1]"),
        ...     hm.IndexingMap.parse("(d0) -> (1), domain: d0 in [2, 3]"),
        ... ])
        >>> print(pieces.simplify())
        (d0) -> (d0 floordiv 2), domain: d0 in [0, 3]
        """
        return self._simplify({})

    def _simplify(self, known: dict[tuple[IndexingMap, ...], list[tuple[IndexingMap, list[int]]]]) -> MapSet:
        """:meth:`simplify` with a cache of results for the maps of other sets, to which this result is added."""
        simplified = self._replace_maps(m.simplify(drop_unused=True) for m in self._maps)
        if len(simplified._maps) == 1 and not simplified._maps[0].is_known_empty:
            return simplified._change_device_maps(lambda maps: maps.simplify())
        before, uses = simplified._all_uses(), dict[_Key, tuple[Use, ...]]()
        members: list[IndexingMap] = []
        for shape_index, maps in simplified._by_array().items():
            own = [m for m in maps if not m.is_known_empty]
            if len(own) < 2:
                members += own
                uses.update(((shape_index, m), before.get((shape_index, m), ())) for m in own)
                continue
            key = tuple(own)
            if key not in known:
                known[key] = _coalesce(own)
            for m, parts in known[key]:
                stands_for = [own[i] for i in parts]
                suppliers = {k: v for part in stands_for for k, v in suppliers_of(part).items()}
                found = {use for part in stands_for for use in before.get((shape_index, part), ())}
                uses[shape_index, m] = tuple(sorted(found, key=lambda use: (use[0].number, use[1])))
                members.append(m._placed(shape_index, next(iter(uses[shape_index, m]), stands_for[0].use), suppliers))
        if tuple(members) != simplified._maps:
            simplified = simplified._replace(members, uses=uses)
        return simplified._change_device_maps(lambda maps: maps.simplify())

    def then(self, second: MapSet | IndexingMap, /) -> MapSet:
        """The composition of every map of this set with every map of the second, simplified.

        The shape indices and uses are those of the second set's maps.  Exact if both sets are.

        >>> shift = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
        >>> print(MapSet([shift]).then(hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")))
        (d0) -> (d0 * 2 + 2), domain: d0 in [0, 3]
        """
        after = as_map_set(second, "MapSet.then", "second")
        if not self or not after:
            return MapSet()  # composing with the empty set is empty even if the other one is unknown
        if self._unknown or after._unknown:
            return self if self._unknown else after
        first, suppliers = self._maps, {k: v for a in self._maps for k, v in suppliers_of(a).items()}
        if after._devices is not None:
            first, suppliers = rename_sources(first, suppliers, after._maps)
        pairs = [(a, b) for a in first for b in after._maps]
        composed = compose_many(pairs, simplify=True, drop_unused=True) if pairs else []
        members = []
        for (_, b), m in zip(pairs, composed, strict=True):
            if not m.is_known_empty:
                members.append(m._placed(b.shape_index, b.use, suppliers | suppliers_of(b)))
        exact, reason = self._exact and after._exact, self._reason or after._reason
        if self._devices is not None and after._devices is not None:
            exact, reason = False, reason or "the pairs of devices are not known"
        assumes = self._assumes or after._assumes
        devices = _combine_devices([self, after], MapSet.then, once=True)
        return MapSet(members, exact=exact, reason=reason, devices=devices, assumes=assumes)

    def restrict(self, dims: Mapping[int, Interval], /) -> MapSet:
        """The set for the points whose indices lie in these intervals, a mapping from dimension to interval.

        Intervals are as for :meth:`image`.  Raises :class:`~hlomap.errors.ShapeError` for a
        dimension that does not exist.

        >>> whole = MapSet([hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 9]")])
        >>> print(whole.restrict({1: (2, 4)}))
        (d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [2, 4]
        """
        bounds = read_restriction(dims, "MapSet.restrict")
        restricted = self._replace_maps(restrict(m, bounds) for m in self._maps)
        restricted = restricted._select([m for m in restricted._maps if not m.is_known_empty])
        return restricted._change_device_maps(lambda maps: maps.restrict(dims))

    def image(self, box: Box | None = None) -> MapSet:
        """The elements that the maps reach, as maps without dims; with ``box`` only from points in that box of the
        dims.

        ``box`` has an item for each dim: an int, inclusive bounds ``(lower, upper)``, a ``range`` or ``slice`` with
        step 1, or ``None`` for all values; the index of one element gives the elements that it reaches.  Values outside
        a map's domain reach nothing.  Shape indices, uses and exactness are kept.
        The image of an unknown set is unknown.  In ``.devices`` the group and the position stay dims, which gives the
        elements that each device reaches.

        Raises :class:`~hlomap.errors.ShapeError` (a ``ValueError``) for a box of another rank or with other steps, and
        ``TypeError`` for anything but a sequence of intervals.

        >>> window = MapSet([hm.IndexingMap.parse("(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 9], s0 in [0, 5]")])
        >>> print(window.image([(2, 3)]))
        ()[s0] -> (s0), domain: s0 in [8, 17]
        """
        return self._image(read_box(box, "MapSet.image"), 0)

    def _eliminate_ranges(self) -> MapSet:
        """Remove redundant ranges; the pairs stay the same."""
        return self._replace_maps(_eliminate_ranges(self._maps)) if any(m.ranges for m in self._maps) else self

    def _image(self, bounds: list[tuple[int, int]] | None, n_kept: int) -> MapSet:
        """The image over a box of all dims but the last ``n_kept``, which stay dims."""
        if self._unknown:
            return self
        found = self._replace_maps(image_maps(self._maps, bounds, n_kept))
        found = found._select([m for m in found._maps if not m.is_known_empty])
        return found._change_device_maps(lambda maps: maps._image(bounds, _DEVICE_DIMS))

    def covers(self, other: MapSet | IndexingMap, /) -> Answer[MissingElement]:
        """Whether these maps together have all pairs (point, element) of the other set.

        This compares the maps; if a set is not exact, they may have more pairs than the operation.  ``.value`` of the
        answer is ``False`` if the other set has a pair that these maps do not have, and ``None`` if neither is proved.
        The witness of ``False`` is such a pair, or None, with a reason, if none is found.
        An unknown set may have any element: it covers every set, and no other set is known to cover it.  Raises
        :class:`~hlomap.errors.ShapeError` for other dims.

        >>> row = MapSet([hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")])
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> row.covers(own), MapSet([own]).covers(row)
        (Answer(True), Answer(False, witness=(1) from (0)))
        >>> row.covers(MapSet.unknown("no rule for sort")).reason
        'no rule for sort'
        """
        return covers(self, as_map_set(other, "MapSet.covers", "other"))

    def equivalent(self, other: MapSet | IndexingMap, /) -> Answer[tuple[int, ...]]:
        """Whether both sets have the same pairs (point, element).

        The answer is undecided if a set is unknown, or is not exact and may lack the pairs that make a difference.
        The witness of ``False`` is a point whose elements differ, if each set has one map: values of the dims, then of
        the runtime variables.  Raises :class:`~hlomap.errors.ShapeError` for other dims.

        >>> whole = hm.IndexingMap.identity([8])
        >>> halves = MapSet([whole]).restrict({0: (0, 3)}) | MapSet([whole]).restrict({0: (4, 7)})
        >>> halves.equivalent(whole)
        Answer(True)
        """
        return equivalent(self, as_map_set(other, "MapSet.equivalent", "other"))

    def overlap(self, other: MapSet | IndexingMap, /) -> Answer[CommonElement]:
        """Whether some element is in the images of both sets, that is, a map of each set reaches it.

        The dims of the two sets may differ; the results index the same array.  Maps with different shape indices reach
        different arrays.  The witness of ``True`` is the element, with a point of each set that reaches it.

        The answer holds for all values of the runtime variables.  It is undecided if it depends on them, if the search
        takes too long, if a set is unknown, or if an over-approximate set meets the other one, since the common element
        may not really be reached.  It is also undecided if both sets cross devices and may meet on different ones.

        Raises :class:`~hlomap.errors.MapError` if maps to the same array have different numbers of results.

        >>> even = MapSet([hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")])
        >>> odd = hm.IndexingMap.parse("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 9]")
        >>> even.overlap(odd)
        Answer(False)
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (d0 * 7 + s0), domain: d0 in [0, 1], s0 in [0, 2]")
        >>> found = row.image([(1, 1)]).overlap(odd).witness
        >>> assert found is not None
        >>> found.element, found.second.dims
        ((7,), (3,))
        """
        return overlap(self, as_map_set(other, "MapSet.overlap", "other"))

    def is_empty(self) -> Answer[tuple[int, ...]]:
        """Whether no map has a point, so that no element is reached; undecided if a set that is not exact has some.

        >>> MapSet().is_empty(), MapSet([IndexingMap.identity([4])]).is_empty()
        (Answer(True), Answer(False))
        """
        return is_empty(self)

    def is_injective(self) -> Answer[CommonElement]:
        """Whether different points reach different elements.

        A point is a value for each dim *and* each range of one of the maps: an injective set reaches as many elements
        as its maps have points.  The answer holds for all values of the runtime variables; if the set is not exact or
        crosses devices, it is never ``False``.  The witness of ``False`` is an element with two points that reach
        it.

        >>> own, turned = (hm.IndexingMap.parse(f"(d0) -> ({e}), domain: d0 in [0, 4]") for e in ("d0", "-d0 + 4"))
        >>> MapSet([own, turned]).is_injective()
        Answer(False, witness=(4) from (4) and (0))
        """
        return is_injective(self)

    def count(self, distinct: bool = False) -> Count:
        """The number of points of all maps, or with ``distinct=True`` the number of distinct elements in the image.

        Counts for several arrays of a tuple are added; elements on different devices count as one.  If the set is not
        exact, the lower bound is 0; if it is unknown, the upper bound is 2**128 - 1.

        >>> reads = MapSet([hm.IndexingMap.parse(f"(d0) -> (d0 + {i}), domain: d0 in [0, 7]") for i in (0, 1)])
        >>> reads.count(), reads.count(distinct=True)
        (Count(lower=16, upper=16), Count(lower=9, upper=9))
        """
        expect(bool, distinct, "MapSet.count", "a bool as `distinct`")
        return count_of(self, distinct)

    def bounds(self, result: int | Expr, /) -> tuple[int, int] | Unknown:
        """Inclusive bounds ``(lower, upper)`` of a result over all maps, as for :meth:`IndexingMap.bounds`.

        Returns ``(0, -1)`` for an empty set and :class:`~hlomap.Unknown` for an unknown set.

        >>> reads = MapSet([hm.IndexingMap.parse(f"(d0) -> (d0 + {i}), domain: d0 in [0, 7]") for i in (0, 10)])
        >>> reads.bounds(0)
        (0, 17)
        """
        if self._unknown:
            return Unknown(self._reason or "unknown")
        bounds = [m.bounds(result) for m in self._nonempty() or self._maps]
        return min((lower for lower, _ in bounds), default=0), max((upper for _, upper in bounds), default=-1)

    def evaluate(
        self,
        dims: npt.ArrayLike,
        ranges: npt.ArrayLike | None = None,
        runtime: npt.ArrayLike | None = None,
        *,
        check: bool = True,
        threads: int = 1,
    ) -> npt.NDArray[np.int64]:
        """The element of each point: the results of the map whose domain contains the point.

        The arguments and the array are as for :meth:`IndexingMap.evaluate`: every map takes the same columns.  A
        point outside of all domains raises :class:`~hlomap.errors.DomainError`; with ``check=False`` its results are
        unspecified.

        Raises :class:`~hlomap.errors.MapError` if maps have different results at a point (``image(point)`` has them
        all), for maps to several arrays of a tuple, and for an unknown set.

        >>> pieces = MapSet([
        ...     hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 3]"),
        ...     hm.IndexingMap.parse("(d0) -> (d0 - 8), domain: d0 in [8, 9]"),
        ... ])
        >>> pieces.evaluate([[2], [9]])
        array([[2],
               [1]])
        """
        return evaluate(self, dims, ranges, runtime, check=check, threads=threads)

    def _nonempty(self) -> tuple[IndexingMap, ...]:
        return tuple(m for m in self._maps if not m.is_known_empty)

    def _replace_maps(self, maps: Iterable[IndexingMap]) -> MapSet:
        """The set with each map replaced by another one, keeping shape indices, uses and suppliers."""
        if self._unknown or (replaced := tuple(maps)) == self._maps:
            return self
        pairs = list(zip(self._maps, replaced, strict=True))
        members = [m._placed(before.shape_index, before.use, suppliers_of(before)) for before, m in pairs]
        if self._uses is None:
            return self._replace(members)
        uses: dict[_Key, tuple[Use, ...]] = {}
        for before, m in pairs:
            shape_index = before.shape_index
            own = uses.get((shape_index, m), ())
            others = self._uses.get((shape_index, before), ())
            uses[shape_index, m] = own + tuple(use for use in others if use not in own)
        return self._replace(members, uses=uses)

    def _replace(self, maps: Iterable[IndexingMap], **changes: Any) -> MapSet:
        """This set with other maps and with some fields changed."""
        about: dict[str, Any] = {"exact": self._exact, "reason": self._reason, "uses": self._uses}
        return MapSet(maps, **{**about, "devices": self._devices, "assumes": self._assumes, **changes})

    def _assuming(self, assumes: str) -> MapSet:
        """The set marked as leaving out elements without influence, under an assumption."""
        found = self._replace(self._maps)
        found._unknown, found._assumes = self._unknown, assumes
        return found

    def _select(self, maps: Sequence[IndexingMap], inexact: str | None = None) -> MapSet:
        """The set with some of its maps; ``inexact`` is a reason why they are not exact."""
        if self._unknown or (len(maps) == len(self._maps) and inexact is None):
            return self
        return self._replace(maps, exact=self._exact and inexact is None, reason=self._reason or inexact)

    def _at(self, shape_index: ShapeIndex) -> MapSet:
        """The maps to one array of the target, without uses, which are slow to select if there are many."""
        own = [m for m in self._maps if m.shape_index == shape_index]
        return self if len(own) == len(self._maps) else MapSet(own, exact=self._exact, reason=self._reason)

    def _by_array(self) -> dict[ShapeIndex, MapSet]:
        """The maps to each array of the target that has some, as :meth:`_at` returns them."""
        found: dict[ShapeIndex, list[IndexingMap]] = {}
        for m in self._maps:
            found.setdefault(m.shape_index, []).append(m)
        if len(found) == 1:
            return dict.fromkeys(found, self)
        return {shape_index: MapSet(own, exact=self._exact, reason=self._reason) for shape_index, own in found.items()}

    def _change_device_maps(self, change: Callable[[MapSet], MapSet]) -> MapSet:
        """The set with its device maps changed by a function."""
        devices = self._devices
        if devices is None:
            return self
        return _with_devices(self, DeviceIndexing(devices.ids, devices.groups, change(devices.maps)))

    def __iter__(self) -> Iterator[IndexingMap]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __bool__(self) -> bool:
        """False only if certainly nothing is read."""
        return self._unknown or bool(self._maps)

    def __getitem__(self, i: int) -> IndexingMap:
        return self._maps[i]

    def __contains__(self, member: object) -> bool:
        return member in self._maps

    def _key(self) -> tuple[object, ...]:
        maps = frozenset((m.shape_index, m) for m in self._maps)
        return self._unknown, self._exact, maps, self._devices.maps if self._devices is not None else None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MapSet):
            return NotImplemented
        if self._key() != other._key():
            return False
        here, there = self._devices, other._devices
        return here is None or there is None or have_same_groups(group_table(here), group_table(there))

    def __hash__(self) -> int:
        return hash(self._key())

    def __getstate__(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        for name, value in zip(self.__slots__, state, strict=True):
            setattr(self, name, value)

    def __str__(self) -> str:
        if self._unknown:
            return f"UNKNOWN: {self._reason}"
        maps = (f"{list(m.shape_index)} " * bool(m.shape_index) + _with_names(m) for m in self._maps)
        marks = (
            []
            if self._exact or not self._maps
            else [f"(over-approximate: {self._reason or 'the reason is not known'})"]
        )
        return "\n".join([*maps, *marks]) or "EMPTY"

    def __repr__(self) -> str:
        if self._unknown:
            return f"MapSet.unknown({one_line(self._reason or '')!r})"
        n = len(self._maps)
        truth = "exact" if self._exact else "over-approximate"
        maps = one_line("; ".join(map(_with_names, self._maps[:4])))
        return f"MapSet({n or 'no'} map{'s' if n > 1 else ''}, {truth}{': ' if n else ''}{maps})"


def _uses_of(maps: Iterable[IndexingMap]) -> dict[_Key, tuple[Use, ...]]:
    """The uses of maps, some of which may be equal."""
    found: dict[_Key, tuple[Use, ...]] = {}
    for m in maps:
        if (use := m.use) is not None:
            key = (m.shape_index, m)
            before = found.get(key, ())
            found[key] = before if use in before else (*before, use)
    return found


def as_map_set(got: MapSet | IndexingMap, function: str = "", parameter: str = "") -> MapSet:
    """The set for an argument that is a map or a set; the error for other types names the function and the parameter.

    >>> as_map_set(IndexingMap.identity([3]), "overlap", "a")
    MapSet(1 map, exact: (d0) -> (d0), domain: d0 in [0, 2])
    """
    if isinstance(got, MapSet):
        return got
    expect(IndexingMap, got, function, f"an IndexingMap or a MapSet as `{parameter}`")
    return MapSet([got])


def union(sets: Sequence[MapSet]) -> MapSet:
    """The members of all sets; exact if all of them are, unknown if one of them is.

    >>> union([MapSet(), MapSet.unknown("no rule for sort")]).reason
    'no rule for sort'
    """
    for one in sets:
        if one._unknown:
            return one
    uses: dict[_Key, tuple[Use, ...]] = {}
    for one in sets:
        for key, found in one._all_uses().items():
            before = uses.get(key, ())
            uses[key] = before + tuple(use for use in found if use not in before)
    return MapSet(
        (m for one in sets for m in one._maps),
        exact=all(one._exact for one in sets),
        reason=next((one._reason for one in sets if one._reason), None),
        uses=uses,
        devices=_combine_devices(sets, lambda *own: union(own)),
        assumes=next((one._assumes for one in sets if one._assumes), None),
    )


_DEVICE_DIMS = 2
"""The last dims of the maps between devices: the group, and the position in it."""


def unknown_devices(reason: str) -> DeviceIndexing:
    """A device indexing with unknown maps, with the reason."""
    return DeviceIndexing("", (), MapSet.unknown(reason))


def _combine_devices(
    sets: Sequence[MapSet], combine: Callable[..., MapSet], *, once: bool = False
) -> DeviceIndexing | None:
    """The device indexing of a combination; sets without device maps stay in place on every device of the table."""
    common = bring_to_common_table(sets, once=once)
    if common is None or isinstance(common, str):
        return None if common is None else unknown_devices(common)
    table, device_sets = common
    return DeviceIndexing(table.ids, table.groups, combine(*device_sets))


def _with_devices(maps: MapSet, devices: DeviceIndexing) -> MapSet:
    """The set with another device indexing; empty if that indexing proves so."""
    if devices.maps.exact and not devices.maps:
        return MapSet()
    return maps._replace(maps, devices=devices)


def _with_names(m: IndexingMap) -> str:
    """The text of a map, with names of instructions in place of numbers for values of this device."""
    text, last, sources = str(m).rpartition(", runtime: ")
    for number, supplier in suppliers_of(m).items():
        if number == supplier.number:
            sources = sources.replace(f"= #{number}(", f"= %{one_line(supplier.name)}(")
    return text + last + sources
