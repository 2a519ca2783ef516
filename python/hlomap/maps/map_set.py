"""A set of indexing maps whose union is the answer, together with how true it is.

Read :class:`MapSet` first.  The law: no maps and not unknown means that nothing is read.  Members are distinct as
(leaf, map) and keep the order in which they were found.  Unknown stays unknown whatever is done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from .._core import Equivalence, IndexingMap, Instruction, Variable, compose_many
from ..errors import ShapeError
from ..types import ShapeIndex, one_line, wrong_type
from .contains import contains
from .device_indexing import (
    NO_COMMON_GROUP,
    DeviceIndexing,
    GroupTable,
    all_as_one,
    each_once,
    in_one_group,
    lifted,
    same_groups,
)
from .subtract import subtract

__all__ = ["MapSet", "Use", "not_followed"]

Use: TypeAlias = tuple[Instruction, int]
"""A user and the number of the operand by which it uses a value."""


class MapSet:
    """Which elements of a value belong to the elements that were asked for: a union of indexing maps.

    Each member knows its tuple leaf (``.index``) and its first use in text order (``.use``).

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
            raise wrong_type("MapSet", "a sequence of hlomap.IndexingMap", maps) from None
        for m in members:
            if not isinstance(m, IndexingMap):
                raise wrong_type("MapSet", "a sequence of hlomap.IndexingMap", m, "as an item")
            key = (tuple(m.index), m)
            kept.setdefault(key, m)
            if uses is None and m.use is not None:
                own_uses[key] = (*own_uses.get(key, ()), m.use)
        if uses is not None:
            own_uses = {key: tuple(found) for key, found in uses.items() if key in kept}
        self._maps = tuple(kept.values())
        self._uses = own_uses
        self._exact = exact
        self._reason = reason
        self._unknown = False
        self._devices = devices

    @classmethod
    def unknown(cls, reason: str) -> MapSet:
        """The set of which nothing is known, and why.

        >>> MapSet.unknown("no rule for sort").reason
        'no rule for sort'
        """
        made = cls(exact=False, reason=reason)
        made._unknown = True
        return made

    @property
    def exact(self) -> bool:
        """Whether the union is precisely what the operation's definition mentions; else it may contain more."""
        return self._exact

    @property
    def is_unknown(self) -> bool:
        """Whether nothing can be said; then there are no maps, and any element may be read."""
        return self._unknown

    @property
    def reason(self) -> str | None:
        """Why the set is unknown or not exact."""
        return self._reason

    @property
    def devices(self) -> DeviceIndexing | None:
        """Where the elements are on other devices: which those are.  None where each is on the device that was asked.

        The maps of this set lead to an element on some device then.  Two such sets one after the other mention more
        than there is, and are not exact; ``replicas.maps`` are as exact as they say, or unknown.
        """
        return self._devices

    def uses(self, member: IndexingMap) -> tuple[Use, ...]:
        """All uses through which a member was reached, in text order.

        >>> MapSet().uses
        <bound method MapSet.uses of MapSet(no map, exact)>
        """
        return self._uses.get((tuple(member.index), member), ())

    def union(self, *others: MapSet) -> MapSet:
        """The members of all; exact where all are, unknown where one is.

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
            devices=_all_on_devices(sets),
        )

    __or__ = union

    def simplify(self) -> MapSet:
        """The same set with simplified maps, without those that are empty or that another map contains.

        >>> import hlomap as hm
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> MapSet([own, row]).simplify()
        MapSet(1 map, exact: (d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4])
        """
        simplified = self._with(m.simplify(drop_unused=True) for m in self._maps)
        kept: list[IndexingMap] = []
        for m in simplified._maps:
            if m.is_known_empty or any(k.index == m.index and contains(k, m) for k in kept):
                continue
            kept = [k for k in kept if k.index != m.index or not contains(m, k)]
            kept.append(m)
        simplified = simplified._of(kept)
        return simplified._on_devices(lambda maps: maps.simplify())

    def then(self, second: MapSet | IndexingMap) -> MapSet:
        """Every map of this set followed by every map of the second, composed and simplified.

        The leaves are those of the second, the uses of its maps.  Exact where both are.

        >>> import hlomap as hm
        >>> shift = hm.IndexingMap.parse("(d0) -> (d0 + 1), domain: d0 in [0, 3]")
        >>> print(MapSet([shift]).then(hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")))
        (d0) -> (d0 * 2 + 2), domain: d0 in [0, 3]
        """
        after = second if isinstance(second, MapSet) else MapSet([second])
        if not self or not after:
            return MapSet()  # nothing after all is nothing, whatever is not known of the rest
        if self._unknown or after._unknown:
            return self if self._unknown else after
        first, suppliers = self._maps, {k: v for a in self._maps for k, v in _suppliers(a).items()}
        if after._devices is not None:
            first, suppliers = _elsewhere(first, suppliers, after._maps)
        pairs = [(a, b) for a in first for b in after._maps]
        composed = compose_many(pairs, simplify=True, drop_unused=True) if pairs else []
        placed = []
        for (_, b), m in zip(pairs, composed, strict=True):
            if not m.is_known_empty:
                placed.append(m._placed(tuple(b.index), b.use, suppliers | _suppliers(b)))
        exact, reason = self._exact and after._exact, self._reason or after._reason
        if self._devices is not None and after._devices is not None:
            exact, reason = False, reason or "which devices belong together is not known"
        return MapSet(placed, exact=exact, reason=reason, devices=_one_after_the_other(self, after))

    def restrict(self, dims: Mapping[int, tuple[int, int]]) -> MapSet:
        """What is read for the elements whose index lies in these bounds, inclusive, by dimension.

        >>> import hlomap as hm
        >>> whole = MapSet([hm.IndexingMap.parse("(d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [0, 9]")])
        >>> print(whole.restrict({1: (2, 4)}))
        (d0, d1) -> (d1), domain: d0 in [0, 3], d1 in [2, 4]
        """
        restricted = self._with(_restricted(m, dims) for m in self._maps)
        restricted = restricted._of([m for m in restricted._maps if not m.is_known_empty])
        return restricted._on_devices(lambda maps: maps.restrict(dims))

    def difference(self, other: MapSet | IndexingMap) -> MapSet:
        """What these maps mention and the other set does not, as disjoint parts of these; leaves are kept apart.

        Where that cannot be said in a few maps, or what is taken away is not exact, nothing is taken away: the set is
        then more than the difference, not exact, and says why.  Of unknown the difference is unknown.

        >>> import hlomap as hm
        >>> row = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> print(MapSet([row]) - own)
        (d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [1, 4], d0 - s0 in [-4, -1]
        (d0)[s0] -> (s0), domain: d0 in [1, 4], s0 in [0, 3], d0 - s0 in [1, 4]
        """
        taken = other if isinstance(other, MapSet) else MapSet([other])
        if self._unknown or not taken:
            return self
        if self._devices is not None or taken._devices is not None:
            there = _devices_without(self, taken)
            if there is not None and there.maps.exact and not there.maps:
                return MapSet()
            return self._of(self._maps, "what is on other devices is not taken away here")._at(there)
        if not taken._exact:
            return self._of(self._maps, "what is taken away may be less than its maps")
        parts: list[IndexingMap] = []
        uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        reason: str | None = None
        for m in self._maps:
            leaf = tuple(m.index)
            same_leaf = [k for k in taken._maps if k.index == m.index]
            left = subtract(m, same_leaf) if same_leaf else [m]
            if isinstance(left, str):
                reason = reason or left
                left = [m]
            suppliers = _suppliers(m).copy()
            for k in same_leaf:
                suppliers |= _suppliers(k)
            for part in left:
                parts.append(part._placed(leaf, m.use, suppliers))
                uses[leaf, part] = uses.get((leaf, part), ()) + self._uses.get((leaf, m), ())
        return MapSet(parts, exact=self._exact and reason is None, reason=self._reason or reason, uses=uses)

    __sub__ = difference

    def covers(self, other: MapSet | IndexingMap) -> Equivalence:
        """Whether these maps together contain each one of the other, for every point of the dims.

        ``.equal`` of the answer is ``True`` where they do, ``False`` where a map has an element that these do not
        have, and ``None`` where neither is proved.  A set that is unknown may hold any element: it covers every set,
        and no other set is known to cover it.

        >>> import hlomap as hm
        >>> row = MapSet([hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]")])
        >>> own = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 4]")
        >>> row.covers(own).equal, MapSet([own]).covers(row).equal
        (True, False)
        >>> row.covers(MapSet.unknown("no rule for sort")).reason
        'no rule for sort'
        """
        inner = other if isinstance(other, MapSet) else MapSet([other])
        if self._unknown or inner._unknown:
            return Equivalence(True) if self._unknown else Equivalence(None, reason=inner._reason or "unknown")
        found = [self._contains(m) for m in inner._maps]
        if False not in found and (self._devices is not None or inner._devices is not None):
            common = _with_one_table([self, inner])
            found.append(common[1][0].covers(common[1][1]).equal if isinstance(common, tuple) else None)
        if False in found:
            return Equivalence(False, reason="a map has elements that are in none of these")
        return Equivalence(None, reason="containment is not proved") if None in found else Equivalence(True)

    def _contains(self, m: IndexingMap) -> bool | None:
        """Whether the maps together contain one; first whether one of them does alone."""
        own = [k for k in self._maps if k.index == m.index]
        answers = [contains(k, m) for k in own]
        if True in answers:
            return True
        if len(own) == 1:
            return answers[0]
        left = subtract(m, own)
        if isinstance(left, str):
            return None
        empty = [part.is_empty().equal for part in left]
        return False if False in empty else None if None in empty else True

    def _with(self, maps: Iterable[IndexingMap]) -> MapSet:
        """The same set with other maps in the places of these."""
        if self._unknown:
            return self
        uses: dict[tuple[ShapeIndex, IndexingMap], tuple[Use, ...]] = {}
        placed: list[IndexingMap] = []
        for before, m in zip(self._maps, maps, strict=True):
            leaf = tuple(before.index)
            placed.append(m._placed(leaf, before.use, _suppliers(before)))
            own = uses.get((leaf, m), ())
            uses[leaf, m] = own + tuple(use for use in self._uses.get((leaf, before), ()) if use not in own)
        return MapSet(placed, exact=self._exact, reason=self._reason, uses=uses, devices=self._devices)

    def _of(self, maps: Sequence[IndexingMap], blurred: str | None = None) -> MapSet:
        """Some of the maps of this set; not exact where there is a reason for that."""
        if self._unknown:
            return self
        exact, reason = self._exact and blurred is None, self._reason or blurred
        return MapSet(maps, exact=exact, reason=reason, uses=self._uses, devices=self._devices)

    def _on_devices(self, change: Callable[[MapSet], MapSet]) -> MapSet:
        """This set, with a change of its maps on devices."""
        there = self._devices
        return self if there is None else self._at(DeviceIndexing(there.ids, there.groups, change(there.maps)))

    def _at(self, devices: DeviceIndexing | None) -> MapSet:
        """This set with other maps on devices."""
        return MapSet(self._maps, exact=self._exact, reason=self._reason, uses=self._uses, devices=devices)

    def __iter__(self) -> Iterator[IndexingMap]:
        return iter(self._maps)

    def __len__(self) -> int:
        return len(self._maps)

    def __bool__(self) -> bool:
        """False only where it is known that nothing is read."""
        return self._unknown or bool(self._maps)

    def __getitem__(self, i: int) -> IndexingMap:
        return self._maps[i]

    def __contains__(self, member: object) -> bool:
        return member in self._maps

    def _key(self) -> tuple[object, ...]:
        maps = frozenset((tuple(m.index), m) for m in self._maps)
        return self._unknown, self._exact, maps, self._devices.maps if self._devices is not None else None

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, MapSet) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        if self._unknown:
            return f"UNKNOWN: {self._reason}"
        return "\n".join(f"{list(m.index)} {m}" if m.index else str(m) for m in self._maps)

    def __repr__(self) -> str:
        if self._unknown:
            return f"MapSet.unknown({one_line(self._reason or '')!r})"
        n = len(self._maps)
        truth = "exact" if self._exact else "over"
        maps = one_line("; ".join(str(m) for m in self._maps[:4]))
        return f"MapSet({n or 'no'} map{'s' if n > 1 else ''}, {truth}{': ' if n else ''}{maps})"


_ELSEWHERE = 3 << 61
"""Runtime sources from here on are values of other devices; no instruction has such a number."""


def not_followed(reason: str) -> DeviceIndexing:
    """Other devices, of which nothing more is known."""
    return DeviceIndexing("", (), MapSet.unknown(reason))


def _all_on_devices(sets: Sequence[MapSet]) -> DeviceIndexing | None:
    """The union; what stays on its device does so on every device of the table."""
    common = _with_one_table(sets)
    if common is None or isinstance(common, DeviceIndexing):
        return common
    there, alike = common
    return DeviceIndexing(there.ids, there.groups, MapSet().union(*alike))


def _one_after_the_other(first: MapSet, second: MapSet) -> DeviceIndexing | None:
    common = _with_one_table([first, second], once=True)
    if common is None or isinstance(common, DeviceIndexing):
        return common
    there, (a, b) = common
    return DeviceIndexing(there.ids, there.groups, a.then(b))


def _devices_without(first: MapSet, second: MapSet) -> DeviceIndexing | None:
    common = _with_one_table([first, second])
    if common is None or isinstance(common, DeviceIndexing):
        return common
    there, (a, b) = common
    return DeviceIndexing(there.ids, there.groups, a.difference(b))


def _with_one_table(
    sets: Sequence[MapSet], *, once: bool = False
) -> tuple[GroupTable, list[MapSet]] | DeviceIndexing | None:
    """A table and the maps of each set on its devices; why there is none; None where nothing leaves its device.

    ``once``: where two of them leave it, the table has every device once.
    """
    there = [one._devices for one in sets if one._devices is not None]
    if not there:
        return None
    for one in there:
        if one.maps.is_unknown:
            return one
    table = there[0].table
    if any(not same_groups(one.table, table) for one in there) or (once and len(there) > 1 and not each_once(table)):
        wide = all_as_one([one.table for one in there])
        if wide is None:
            return not_followed(NO_COMMON_GROUP)
        table = wide
    alike: list[MapSet] = []
    for given in sets:
        maps: list[IndexingMap] = []
        for m in given._maps if given._devices is None else given._devices.maps:
            above = _on_table(m, given._devices, table)
            if above is None:
                return not_followed(NO_COMMON_GROUP)
            maps += [moved._placed(tuple(m.index), m.use, _suppliers(m)) for moved in above]
        truth = given if given._devices is None else given._devices.maps
        alike.append(MapSet(maps, exact=truth._exact, reason=truth._reason))
    return table, alike


def _on_table(m: IndexingMap, there: DeviceIndexing | None, table: GroupTable) -> list[IndexingMap] | None:
    if there is None:
        return lifted(m, table)
    if same_groups(there.table, table):
        return [m]
    return in_one_group(m, there.table, len(table.groups[0]))


def _elsewhere(
    first: Sequence[IndexingMap], suppliers: Mapping[int, Instruction], second: Sequence[IndexingMap]
) -> tuple[tuple[IndexingMap, ...], dict[int, Instruction]]:
    """The maps before a change of device: their runtime values are not those of the same name behind it."""
    used = {v.source for m in (*first, *second) for v in m.runtime if v.source is not None}
    before = sorted({v.source for m in first for v in m.runtime if v.source is not None})
    free = max(_ELSEWHERE, *(source + 1 for source in used)) if used else _ELSEWHERE
    numbers = {source: free + i for i, source in enumerate(before)}
    moved = tuple(m.remap_sources(numbers) if m.runtime else m for m in first)
    return moved, {numbers[source]: supplier for source, supplier in suppliers.items() if source in numbers}


def _suppliers(m: IndexingMap) -> dict[int, Instruction]:
    return {v.source: v.supplier for v in m.runtime if v.source is not None and v.supplier is not None}


def _restricted(m: IndexingMap, bounds: Mapping[int, tuple[int, int]]) -> IndexingMap:
    for i in bounds:
        if not 0 <= i < len(m.dims):
            raise ShapeError(f"dimension {i} of {len(m.dims)}")
    dims = [
        Variable(v.name, max(v.lower, low), min(v.upper, high))
        for v, (low, high) in ((v, bounds.get(i, (v.lower, v.upper))) for i, v in enumerate(m.dims))
    ]
    return IndexingMap(dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=m.constraints)
