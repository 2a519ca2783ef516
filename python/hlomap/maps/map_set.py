"""Map sets: unions of indexing maps that are exact, over-approximate or unknown.

Read :class:`MapSet` first, then :class:`DeviceIndexing`, which holds a set of maps between devices.  Invariant: a set
without maps that is not unknown reads nothing.  Members are distinct as (shape index, map) and keep the order of
insertion.  Operations on an unknown set give an unknown set.  HLO operations and the rewriting of single maps for
another table of device groups (:mod:`hlomap.maps.device_groups`) are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from .. import reprs
from .._core import IndexingMap, Instruction, Variable, _coalesce, _eliminate_ranges, compose_many
from ..answers import Answer
from ..errors import ShapeError
from ..types import ShapeIndex, expect, one_line, wrong_type
from .contains import Containment, uncontained
from .device_groups import (
    NO_COMMON_GROUP,
    GroupTable,
    have_same_groups,
    lift_to_devices,
    lists_each_device_once,
    merge_group_tables,
    rewrite_for_one_group,
)
from .image import Box, image_maps, read_box
from .subtract import Effort, find_meeting, subtract

__all__ = ["DeviceIndexing", "MapSet", "Use", "as_map_set", "group_table", "image_of_map", "unknown_devices"]

Use: TypeAlias = tuple[Instruction, int]
"""A user of a value, and the number of the operand that is the value."""


class MapSet:
    """A union of indexing maps between the elements of two values.

    Each member has the shape index of its target array (``.shape_index``) and its first use in text order (``.use``).

    >>> import hlomap as hm
    >>> MapSet([hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")])
    MapSet(1 map, exact: (d0) -> (d0 + 1), domain: d0 in [0, 3])
    >>> MapSet.unknown("no rule for custom-call").is_unknown
    True
    """

    __slots__ = ("_devices", "_exact", "_maps", "_reason", "_unknown", "_uses")

    def __init__(
        self,
        maps: Iterable[IndexingMap] = (),
        *,
        exact: bool = True,
        reason: str | None = None,
        uses: Mapping[tuple[ShapeIndex, IndexingMap], Iterable[Use]] | None = None,
        devices: DeviceIndexing | None = None,
    ) -> None:
        kept: dict[tuple[ShapeIndex, IndexingMap], IndexingMap] = {}
        own_uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        try:
            members = iter(maps)
        except TypeError:
            raise wrong_type("MapSet", "a sequence of IndexingMap", maps) from None
        for m in members:
            if not isinstance(m, IndexingMap):
                raise wrong_type("MapSet", "a sequence of IndexingMap", m, "as an item")
            key = (m.shape_index, m)
            kept.setdefault(key, m)
            if uses is None and (use := m.use) is not None:
                own_uses[key] = (*own_uses.get(key, ()), use)
        if uses is not None:
            expect(Mapping, uses, "MapSet", "a mapping from (shape index, map) to uses as `uses`")
            own_uses = {key: tuple(found) for key, found in uses.items() if key in kept}
        self._maps = tuple(kept.values())
        self._uses = own_uses
        self._exact = exact
        self._reason = reason
        self._unknown = False
        self._devices = devices

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
    def devices(self) -> DeviceIndexing | None:
        """The maps with devices, where elements cross devices; None where all elements stay on their device.

        If it is not None, each map of this set relates elements on some pair of devices, without telling which.
        Composing two such sets over-approximates; ``devices.maps`` keep their exactness, or are unknown.
        """
        return self._devices

    def uses(self, member: IndexingMap) -> tuple[Use, ...]:
        """All uses of a member, in text order.

        >>> MapSet().uses
        <bound method MapSet.uses of MapSet(no map, exact)>
        """
        return self._uses.get((tuple(member.shape_index), member), ())

    def union(self, *others: MapSet) -> MapSet:
        """The members of all sets; exact if all of them are, unknown if one of them is.

        >>> a, b = MapSet(), MapSet.unknown("no rule for sort")
        >>> a.union(b).is_unknown
        True
        """
        sets = (self, *others)
        for one in sets:
            if one._unknown:
                return one
        uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        for one in sets:
            for key, found in one._uses.items():
                before = uses.get(key, ())
                uses[key] = before + tuple(use for use in found if use not in before)
        return MapSet(
            (m for one in sets for m in one._maps),
            exact=all(one._exact for one in sets),
            reason=next((one._reason for one in sets if one._reason), None),
            uses=uses,
            devices=_union_devices(sets),
        )

    __or__ = union

    def simplify(self) -> MapSet:
        """The set with simplified maps, without maps that are empty or contained in another one.

        >>> import hlomap as hm
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> MapSet([own, row]).simplify()
        MapSet(1 map, exact: (d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4])
        """
        simplified = self._replace_maps(m.simplify(drop_unused=True) for m in self._maps)
        members = [m for m in simplified._maps if not m.is_known_empty]
        if len(members) > 1:
            by_index: dict[ShapeIndex, list[IndexingMap]] = {}
            for m in members:
                by_index.setdefault(m.shape_index, []).append(m)
            kept = {(index, m) for index, own in by_index.items() for m in uncontained(own)}
            members = [m for m in members if (m.shape_index, m) in kept]
        simplified = simplified._select(members)
        return simplified._change_device_maps(lambda maps: maps.simplify())

    def then(self, second: MapSet | IndexingMap) -> MapSet:
        """The composition of every map of this set with every map of the second, simplified.

        The shape indices and uses are those of the second set's maps.  Exact if both sets are.

        >>> import hlomap as hm
        >>> shift = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
        >>> print(MapSet([shift]).then(hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")))
        (d0) -> (d0 * 2 + 2), domain: d0 in [0, 3]
        """
        after = as_map_set(second, "MapSet.then", "second")
        if not self or not after:
            return MapSet()  # composing with the empty set is empty even if the other one is unknown
        if self._unknown or after._unknown:
            return self if self._unknown else after
        first, suppliers = self._maps, {k: v for a in self._maps for k, v in _suppliers(a).items()}
        if after._devices is not None:
            first, suppliers = _rename_sources(first, suppliers, after._maps)
        pairs = [(a, b) for a in first for b in after._maps]
        composed = compose_many(pairs, simplify=True, drop_unused=True) if pairs else []
        members = []
        for (_, b), m in zip(pairs, composed, strict=True):
            if not m.is_known_empty:
                members.append(m._placed(tuple(b.shape_index), b.use, suppliers | _suppliers(b)))
        exact, reason = self._exact and after._exact, self._reason or after._reason
        if self._devices is not None and after._devices is not None:
            exact, reason = False, reason or "the pairs of devices are not known"
        return MapSet(members, exact=exact, reason=reason, devices=_compose_devices(self, after))

    def restrict(self, dims: Mapping[int, tuple[int, int]]) -> MapSet:
        """The set for the elements whose index lies in these inclusive bounds, a mapping from dimension to bounds.

        >>> import hlomap as hm
        >>> whole = MapSet([hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 9]")])
        >>> print(whole.restrict({1: (2, 4)}))
        (d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [2, 4]
        """
        expect(Mapping, dims, "MapSet.restrict", "a mapping from dimension to (lower, upper) as `dims`")
        restricted = self._replace_maps(_restrict(m, dims) for m in self._maps)
        restricted = restricted._select([m for m in restricted._maps if not m.is_known_empty])
        return restricted._change_device_maps(lambda maps: maps.restrict(dims))

    def image(self, box: Box | None = None) -> MapSet:
        """The elements that the maps reach, from the points of a box of the dims if there is one: maps without dims.

        ``box`` has an item for each dim: an int, inclusive bounds ``(lower, upper)``, a ``range`` or ``slice`` with
        step 1, or ``None`` for all values; so the index of an element gives what that element reaches.  Values outside
        a map's domain reach nothing.  Shape indices, uses and exactness stay.
        The image of an unknown set, or of one with an undefined map, is unknown.  In ``.devices`` the group and the
        position stay dims: the elements that each device reaches.

        Raises :class:`~hlomap.errors.ShapeError` (a ``ValueError``) for a box of another rank or with other steps, and
        ``TypeError`` for anything but a sequence of intervals.

        >>> import hlomap as hm
        >>> window = MapSet([hm.IndexingMap.parse("(d0)[s0] -> (d0 * 4 + s0), domain: d0 in [0, 9], s0 in [0, 5]")])
        >>> print(window.image([(2, 3)]))
        ()[s0] -> (s0), domain: s0 in [8, 17]
        """
        return self._image(read_box(box, "MapSet.image"), 0)

    def _eliminate_ranges(self) -> MapSet:
        """The same pairs, with maps that may have fewer ranges: those that others stand for are left out."""
        return self._replace_maps(_eliminate_ranges(self._maps)) if any(m.ranges for m in self._maps) else self

    def _image(self, bounds: list[tuple[int, int]] | None, n_kept: int) -> MapSet:
        """The image over a box of all dims but the last ``n_kept``, which stay dims."""
        if self._unknown:
            return self
        images = image_maps(self._maps, bounds, n_kept)
        if any(m.is_undefined for m in self._maps):
            return MapSet.unknown("nothing is known about an undefined map")
        found = self._replace_maps(images)
        found = found._select([m for m in found._maps if not m.is_known_empty])
        return found._change_device_maps(lambda maps: maps._image(bounds, _DEVICE_DIMS))

    def coalesce(self) -> MapSet:
        """The fewest maps that a search finds for the same pairs; shape indices are kept apart.

        Maps are joined whose bounds adjoin, whose results continue each other, or whose pieces are the blocks of a
        quotient; empty maps and those contained in another one are dropped.  The search is greedy: there may be a
        smaller set.  What is not proved the same stays apart.  A joined map has all uses of its parts.

        >>> import hlomap as hm
        >>> pieces = MapSet([
        ...     hm.IndexingMap.parse("(d0) -> (0), domain: d0 in [0, 1]"),
        ...     hm.IndexingMap.parse("(d0) -> (1), domain: d0 in [2, 3]"),
        ... ])
        >>> print(pieces.coalesce())
        (d0) -> (d0 floordiv 2), domain: d0 in [0, 3]
        """
        if self._unknown:
            return self
        uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        members: list[IndexingMap] = []
        for leaf in dict.fromkeys(tuple(m.shape_index) for m in self._maps):
            own = [m for m in self._maps if m.shape_index == leaf]
            for m, parts in _coalesce(own):
                stands_for = [own[i] for i in parts]
                suppliers = {k: v for part in stands_for for k, v in _suppliers(part).items()}
                members.append(m._placed(leaf, stands_for[0].use, suppliers))
                found = (use for part in stands_for for use in self._uses.get((leaf, part), ()))
                uses[leaf, m] = tuple(dict.fromkeys(found))
        coalesced = MapSet(members, exact=self._exact, reason=self._reason, uses=uses, devices=self._devices)
        return coalesced._change_device_maps(lambda maps: maps.coalesce())

    def subtract_pairs(self, other: MapSet | IndexingMap) -> MapSet:
        """The pairs (point, element) of this set that the other set does not have; ``a - b`` is the same.

        The result has disjoint maps for each map of this set; shape indices are kept apart.  An element stays where the
        other set reaches it from other points only: :meth:`subtract_elements` removes it there, too.

        Where the difference takes too many maps or comparisons, or the other set is not exact, nothing is
        subtracted: it over-approximates the difference and has a reason.  The difference of an unknown set is unknown.

        >>> import hlomap as hm
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> print(MapSet([row]).subtract_pairs(own))
        (d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [1, 4], d0 - s0 in [-4, -1]
        (d0)[s0] -> (s0), domain: d0 in [1, 4], s0 in [0, 3], d0 - s0 in [1, 4]
        """
        taken = as_map_set(other, "MapSet.subtract_pairs", "other")
        if self._unknown or not taken:
            return self
        if self._devices is not None or taken._devices is not None:
            devices = _subtract_devices(self, taken)
            if devices is not None and devices.maps.exact and not devices.maps:
                return MapSet()
            return self._select(self._maps, "elements on other devices are not subtracted")._replace_devices(devices)
        if not taken._exact:
            return self._select(self._maps, "the subtracted set is over-approximate")
        parts: list[IndexingMap] = []
        uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        reason: str | None = None
        effort = Effort()
        for m, same_leaf in zip(self._maps, find_meeting(self._maps, taken._maps), strict=True):
            leaf = tuple(m.shape_index)
            remaining = subtract(m, same_leaf, effort) if same_leaf else [m]
            if isinstance(remaining, str):
                reason = reason or remaining
                remaining = [m]
            suppliers = _suppliers(m).copy()
            for k in same_leaf:
                suppliers |= _suppliers(k)
            for part in remaining:
                parts.append(part._placed(leaf, m.use, suppliers))
                uses[leaf, part] = uses.get((leaf, part), ()) + self._uses.get((leaf, m), ())
        return MapSet(parts, exact=self._exact and reason is None, reason=self._reason or reason, uses=uses)

    __sub__ = subtract_pairs

    def subtract_elements(self, other: MapSet | IndexingMap) -> MapSet:
        """The elements that this set reaches and the other one does not, from whatever points: maps without dims.

        This is ``a.image().subtract_pairs(b.image())``; the dims of the two sets may differ.  Where the difference
        takes too many maps, where the other set is not exact, or where a set crosses devices, elements are kept that
        the other set reaches: the result then over-approximates the difference and has a reason.

        >>> import hlomap as hm
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 9]")
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> print(MapSet([row]).subtract_elements(own))
        ()[s0] -> (s0), domain: s0 in [5, 9]
        """
        own, taken = self.image(), as_map_set(other, "MapSet.subtract_elements", "other").image()
        if own and taken and (own._devices is not None or taken._devices is not None):
            return own._select(own._maps, "elements on other devices are not subtracted")
        return own.subtract_pairs(taken)

    def covers(self, other: MapSet | IndexingMap) -> Answer[tuple[int, ...]]:
        """Whether these maps together contain each one of the other, for every point of the dims.

        ``.value`` of the result is ``True`` where they do, ``False`` where a map has an element that these do not
        have, and ``None`` where neither is proved.  A set that is unknown may hold any element: it covers every set,
        and no other set is known to cover it.

        >>> import hlomap as hm
        >>> row = MapSet([hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")])
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> row.covers(own).value, MapSet([own]).covers(row).value
        (True, False)
        >>> row.covers(MapSet.unknown("no rule for sort")).reason
        'no rule for sort'
        """
        inner = as_map_set(other, "MapSet.covers", "other")
        if self._unknown or inner._unknown:
            return Answer(True) if self._unknown else Answer(None, reason=inner._reason or "unknown")
        effort, containment = Effort(), Containment()
        leaves = [tuple(m.shape_index) for m in self._maps]
        found: list[bool | None] = []
        for m, own in zip(inner._maps, find_meeting(inner._maps, self._maps), strict=True):
            if leaves.count(tuple(m.shape_index)) == 1:
                found += [containment.contains(k, m) for k in self._maps if k.shape_index == m.shape_index]
            else:
                found.append(_covers(own, m, effort, containment))
        if False not in found and (self._devices is not None or inner._devices is not None):
            common = _bring_to_common_table([self, inner])
            found.append(common[1][0].covers(common[1][1]).value if isinstance(common, tuple) else None)
        if False in found:
            return Answer(False, reason="a map has elements that are in none of these")
        return Answer(None, reason="containment is not proved") if None in found else Answer(True)

    def _replace_maps(self, maps: Iterable[IndexingMap]) -> MapSet:
        """The set with each map replaced by another one, keeping shape indices, uses and suppliers."""
        if self._unknown or (replaced := tuple(maps)) == self._maps:
            return self
        uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        members: list[IndexingMap] = []
        for before, m in zip(self._maps, replaced, strict=True):
            leaf = tuple(before.shape_index)
            members.append(m._placed(leaf, before.use, _suppliers(before)))
            own = uses.get((leaf, m), ())
            uses[leaf, m] = own + tuple(use for use in self._uses.get((leaf, before), ()) if use not in own)
        return MapSet(members, exact=self._exact, reason=self._reason, uses=uses, devices=self._devices)

    def _select(self, maps: Sequence[IndexingMap], inexact: str | None = None) -> MapSet:
        """The set with some of its maps; ``inexact`` is a reason why they are not exact."""
        if self._unknown or (len(maps) == len(self._maps) and inexact is None):
            return self
        exact, reason = self._exact and inexact is None, self._reason or inexact
        return MapSet(maps, exact=exact, reason=reason, uses=self._uses, devices=self._devices)

    def _change_device_maps(self, change: Callable[[MapSet], MapSet]) -> MapSet:
        """The set with its device maps changed by a function."""
        devices = self._devices
        if devices is None:
            return self
        return self._replace_devices(DeviceIndexing(devices.ids, devices.groups, change(devices.maps)))

    def _replace_devices(self, devices: DeviceIndexing | None) -> MapSet:
        """The set with another device indexing."""
        return MapSet(self._maps, exact=self._exact, reason=self._reason, uses=self._uses, devices=devices)

    def __iter__(self) -> Iterator[IndexingMap]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __bool__(self) -> bool:
        """False only where nothing is read for certain."""
        return self._unknown or bool(self._maps)

    def __getitem__(self, i: int) -> IndexingMap:
        return self._maps[i]

    def __contains__(self, member: object) -> bool:
        return member in self._maps

    def _key(self) -> tuple[object, ...]:
        maps = frozenset((tuple(m.shape_index), m) for m in self._maps)
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
        return "\n".join(f"{list(m.shape_index)} {m}" if m.shape_index else str(m) for m in self._maps)

    def _repr_svg_(self) -> str | None:
        return reprs.svg(self)

    def __repr__(self) -> str:
        if self._unknown:
            return f"MapSet.unknown({one_line(self._reason or '')!r})"
        n = len(self._maps)
        truth = "exact" if self._exact else "over-approximate"
        maps = one_line("; ".join(str(m) for m in self._maps[:4]))
        return f"MapSet({n or 'no'} map{'s' if n > 1 else ''}, {truth}{': ' if n else ''}{maps})"


@dataclass(frozen=True, slots=True)
class DeviceIndexing:
    """Relates elements on one device to elements on another.

    ``groups`` lists the devices of each group.  ``ids`` is the kind of their numbers: ``replica`` (the devices of a
    group share a partition), ``partition`` (they share a replica), or ``device``, which is
    ``replica * num_partitions + partition``.  ``maps`` go from (index..., group, position) to
    (index..., group, position), where ``groups[group][position]`` is the device.  Devices in no group do not take part.
    The groups of a permutation are its (source, target) pairs.

    >>> import hlomap as hm
    >>> gather = hm.parse('''ENTRY e {
    ...   p = f32[2] parameter(0)
    ...   ROOT g = f32[6] all-gather(p), replica_groups={{0,2,4},{1,3,5}}, dimensions={0}
    ... }''').entry.root
    >>> devices = hm.output_to_input(gather)[0].devices
    >>> assert devices is not None
    >>> list(devices.groups), devices.ids
    ([(0, 2, 4), (1, 3, 5)], 'replica')
    >>> print(devices.maps)
    (d0, group, position) -> (d0 mod 2, group, d0 floordiv 2), domain: d0 in [0, 5], group in [0, 1], position in [0, 2]
    """

    ids: str
    groups: Sequence[Sequence[int]]
    maps: MapSet

    def __post_init__(self) -> None:
        if isinstance(self.groups, list):  # which has no hash
            object.__setattr__(self, "groups", tuple(map(tuple, self.groups)))


# ---------------------------------------------------------------------------------------------------- maps as arguments


def as_map_set(got: MapSet | IndexingMap, function: str, parameter: str) -> MapSet:
    """An argument that is a map or a set of maps, as a set; the exception names the function and the parameter.

    >>> as_map_set(IndexingMap.identity([3]), "overlap", "a")
    MapSet(1 map, exact: (d0) -> (d0), domain: d0 in [0, 2])
    """
    if isinstance(got, MapSet):
        return got
    expect(IndexingMap, got, function, f"an IndexingMap or a MapSet as `{parameter}`")
    return MapSet([got])


def image_of_map(m: IndexingMap, box: Box | None) -> MapSet:
    """:meth:`IndexingMap.image`."""
    return MapSet([m])._image(read_box(box, "IndexingMap.image"), 0)


# -------------------------------------------------------------------------------------------------- device maps of sets

_DEVICE_DIMS = 2
"""The last dims of the maps between devices: the group, and the position in it."""


_OTHER_DEVICE_SOURCES = 3 << 61
"""The first number of runtime sources that are values of other devices; no instruction has such a number."""


def group_table(devices: DeviceIndexing) -> GroupTable:
    """The groups of a device indexing as a table."""
    return GroupTable(devices.ids, devices.groups)


def unknown_devices(reason: str) -> DeviceIndexing:
    """A device indexing with unknown maps, with the reason."""
    return DeviceIndexing("", (), MapSet.unknown(reason))


def _union_devices(sets: Sequence[MapSet]) -> DeviceIndexing | None:
    """The device indexing of a union; maps that stay on their device do so on every device of the table."""
    common = _bring_to_common_table(sets)
    if common is None or isinstance(common, DeviceIndexing):
        return common
    table, device_sets = common
    return DeviceIndexing(table.ids, table.groups, MapSet().union(*device_sets))


def _compose_devices(first: MapSet, second: MapSet) -> DeviceIndexing | None:
    common = _bring_to_common_table([first, second], once=True)
    if common is None or isinstance(common, DeviceIndexing):
        return common
    table, (a, b) = common
    return DeviceIndexing(table.ids, table.groups, a.then(b))


def _covers(maps: Sequence[IndexingMap], m: IndexingMap, effort: Effort, containment: Containment) -> bool | None:
    """Whether the union of maps contains one map; a single map that contains it is tried first."""
    if m in maps or any(effort.spend() and containment.contains(k, m) for k in maps):
        return True
    remaining = subtract(m, maps, effort)
    if isinstance(remaining, str):
        return None
    empty = [part.is_empty().value if effort.spend() else None for part in remaining]
    return False if False in empty else None if None in empty else True


def _subtract_devices(first: MapSet, second: MapSet) -> DeviceIndexing | None:
    common = _bring_to_common_table([first, second])
    if common is None or isinstance(common, DeviceIndexing):
        return common
    table, (a, b) = common
    return DeviceIndexing(table.ids, table.groups, a.subtract_pairs(b))


def _bring_to_common_table(
    sets: Sequence[MapSet], *, once: bool = False
) -> tuple[GroupTable, list[MapSet]] | DeviceIndexing | None:
    """A common table, and the device maps of each set rewritten for it.

    None where no set crosses devices; an unknown device indexing where there is no common table.  ``once`` requires a
    table that lists each device once where more than one set crosses devices.
    """
    devices = [one._devices for one in sets if one._devices is not None]
    if not devices:
        return None
    for there in devices:
        if there.maps.is_unknown:
            return there
    table = group_table(devices[0])
    differ = any(not have_same_groups(group_table(there), table) for there in devices)
    if differ or (once and len(devices) > 1 and not lists_each_device_once(table)):
        wide = merge_group_tables([group_table(there) for there in devices])
        if wide is None:
            return unknown_devices(NO_COMMON_GROUP)
        table = wide
    device_sets: list[MapSet] = []
    for one in sets:
        source = one if one._devices is None else one._devices.maps
        maps: list[IndexingMap] = []
        for m in source._maps:
            rewritten = _rewrite_for_table(m, one._devices, table)
            if rewritten is None:
                return unknown_devices(NO_COMMON_GROUP)
            maps += [other._placed(tuple(m.shape_index), m.use, _suppliers(m)) for other in rewritten]
        device_sets.append(MapSet(maps, exact=source._exact, reason=source._reason))
    return table, device_sets


def _rewrite_for_table(m: IndexingMap, devices: DeviceIndexing | None, table: GroupTable) -> list[IndexingMap] | None:
    if devices is None:
        return lift_to_devices(m, table)
    if have_same_groups(group_table(devices), table):
        return [m]
    return rewrite_for_one_group(m, group_table(devices), len(table.groups[0]))


def _rename_sources(
    first: Sequence[IndexingMap], suppliers: Mapping[int, Instruction], second: Sequence[IndexingMap]
) -> tuple[tuple[IndexingMap, ...], dict[int, Instruction]]:
    """The maps before a collective, with new runtime sources.

    A source on one device has another value than the same source on the next device.
    """
    used = {v.source for m in (*first, *second) for v in m.runtime if v.source is not None}
    before = sorted({v.source for m in first for v in m.runtime if v.source is not None})
    unused = max(_OTHER_DEVICE_SOURCES, *(source + 1 for source in used)) if used else _OTHER_DEVICE_SOURCES
    numbers = {source: unused + i for i, source in enumerate(before)}
    renamed = tuple(m.remap_sources(numbers) if m.runtime else m for m in first)
    return renamed, {numbers[source]: supplier for source, supplier in suppliers.items() if source in numbers}


def _suppliers(m: IndexingMap) -> dict[int, Instruction]:
    return {v.source: v.supplier for v in m.runtime if v.source is not None and v.supplier is not None}


def _restrict(m: IndexingMap, bounds: Mapping[int, tuple[int, int]]) -> IndexingMap:
    for i in bounds:
        if not 0 <= i < len(m.dims):
            raise ShapeError(f"dimension {i} is out of range: the map has {len(m.dims)} dims")
    dims = [
        Variable(v.name, max(v.lower, low), min(v.upper, high))
        for v, (low, high) in ((v, bounds.get(i, (v.lower, v.upper))) for i, v in enumerate(m.dims))
    ]
    return IndexingMap(dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=m.constraints)
