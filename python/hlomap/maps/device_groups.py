"""Tables of device groups, and maps whose dimensions and results include a device of such a table.

The last two dimensions and the last two results of a map between devices are a group and a position in that group; the
last two entries of a runtime variable's index name the device that holds the value.  Each map stays within a group, so
maps of one table compose like any others; maps of different tables are first rewritten for one group of all devices
(:func:`rewrite_for_table`).  A :class:`DeviceIndexing` is a set of such maps with its table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from .._core import Expr, IndexingMap, Instruction, Variable
from ..base.answers import Record
from .variables import suppliers_of

if TYPE_CHECKING:
    from .map_set import MapSet

MAX_LISTED_DEVICES = 1 << 16
"""Tables with more devices than this stay in compact notation: their groups are not listed to compare them."""


class GroupTable(NamedTuple):
    """The groups of a collective; ``ids`` is the kind of their numbers: ``replica``, ``partition`` or ``device``."""

    ids: str
    groups: Sequence[Sequence[int]]

    @property
    def n_devices(self) -> int:
        """The total size of the groups, without listing them."""
        return sum((last - first + 1) * n for (first, last), n in self.runs())

    def runs(self) -> list[tuple[tuple[int, int], int]]:
        """The first and last group of each run of neighbouring groups of one size, and that size."""
        size = getattr(self.groups, "group_size", None)
        if size is not None:
            return [((0, len(self.groups) - 1), size)]
        result: list[tuple[tuple[int, int], int]] = []
        for number, group in enumerate(self.groups):
            if result and result[-1][1] == len(group):
                result[-1] = ((result[-1][0][0], number), len(group))
            else:
                result.append(((number, number), len(group)))
        return result


class DeviceIndexing(Record):
    """Relates elements on one device to elements on another.

    ``groups`` lists the devices of each group.  ``ids`` is the kind of their numbers: ``replica`` (the devices of a
    group share a partition), ``partition`` (they share a replica), or ``device``, which is
    ``replica * n_partitions + partition``.  ``maps`` go from (index..., group, position) to
    (index..., group, position), where ``groups[group][position]`` is the device.  Devices in no group do not take part.
    The groups of a permutation are its (source, target) pairs.

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

    __slots__ = ("groups", "ids", "maps")
    __match_args__: ClassVar[tuple[str, ...]] = ("ids", "groups", "maps")

    ids: str
    groups: Sequence[Sequence[int]]
    maps: MapSet

    def __init__(self, ids: str, groups: Sequence[Sequence[int]], maps: MapSet) -> None:
        self.ids = ids
        # Lists are not hashable; a group of very many devices stays a range.
        if isinstance(groups, list):
            groups = tuple(group if isinstance(group, range) else tuple(group) for group in groups)
        self.groups = groups
        self.maps = maps


def group_table(devices: DeviceIndexing) -> GroupTable:
    """The groups of a device indexing as a table."""
    return GroupTable(devices.ids, devices.groups)


def have_same_groups(a: GroupTable, b: GroupTable) -> bool:
    """Whether two tables have equal groups in equal order; False if undecided, for very large tables."""
    if a.ids != b.ids or a.n_devices != b.n_devices or len(a.groups) != len(b.groups):
        return False
    # Tables of many devices are compared only if both use the same notation: expanding an iota would be too slow.
    if type(a.groups) is type(b.groups) or a.n_devices > MAX_LISTED_DEVICES:
        return bool(a.groups == b.groups)
    return all(tuple(x) == tuple(y) for x, y in zip(a.groups, b.groups, strict=True))


def lists_each_device_once(table: GroupTable) -> bool:
    """Whether no device is in two positions, so that a position can be identified with its device."""
    if table.n_devices > MAX_LISTED_DEVICES:
        written = getattr(table.groups, "iota", None) or getattr(table.groups, "mesh", None)
        return len(table.groups) == 1 or written is not None
    members = [i for group in table.groups for i in group]
    return len(set(members)) == len(members)


def lift_to_devices(m: IndexingMap, table: GroupTable) -> list[IndexingMap]:
    """The map with the same group and position on both sides, as one map for each run of groups of one size."""
    rank = len(m.dims)
    here = [Expr.dim(rank), Expr.dim(rank + 1)]
    runtime = [
        Variable(v.name, v.lower, v.upper, source=v.source, element=[*v.element, *here])
        if v.source is not None
        else Variable(v.name, v.lower, v.upper)
        for v in m.runtime
    ]
    return [
        IndexingMap(
            [*m.dims, ("group", *groups), ("position", 0, n - 1)],
            [*m.results, *here],
            ranges=m.ranges,
            runtime=runtime,
            constraints=m.constraints,
        )
        for groups, n in table.runs()
    ]


NO_COMMON_GROUP = "groups of several kinds, or a device in several groups"


def common_table(tables: Sequence[GroupTable], *, once: bool = True) -> GroupTable | None:
    """The common value of all tables, else a table of one group; None if neither is possible.

    ``once`` requires that a table used by several collectives lists each device once.
    """
    first = tables[0]
    if any(not have_same_groups(table, first) for table in tables[1:]):
        return _merge_group_tables(tables)
    is_unclear = once and len(tables) > 1 and not lists_each_device_once(first)
    return _merge_group_tables(tables) if is_unclear else first


def bring_to_common_table(
    sets: Sequence[MapSet], *, once: bool = False
) -> tuple[GroupTable, list[MapSet]] | str | None:
    """A common table, and the device maps of each set rewritten for it; or the reason why there is none.

    None if no set crosses devices.
    """
    devices = [one.devices for one in sets if one.devices is not None]
    if not devices:
        return None
    for there in devices:
        if there.maps.is_unknown:
            return there.maps.reason or "unknown"
    table = common_table([group_table(there) for there in devices], once=once)
    if table is None:
        return NO_COMMON_GROUP
    device_sets: list[MapSet] = []
    for one in sets:
        source = one if one.devices is None else one.devices.maps
        own = None if one.devices is None else group_table(one.devices)
        maps: list[IndexingMap] = []
        for m in source:
            rewritten = lift_to_devices(m, table) if own is None else rewrite_for_table(m, own, table)
            if rewritten is None:
                return NO_COMMON_GROUP
            maps += [other._placed(m.shape_index, m.use, suppliers_of(m)) for other in rewritten]
        device_sets.append(source._replace(maps, uses=None))
    return table, device_sets


def _merge_group_tables(tables: Sequence[GroupTable]) -> GroupTable | None:
    """A table with one group of all devices up to the largest number; None for different kinds or too many devices."""
    if len({table.ids for table in tables}) != 1 or any(table.n_devices > MAX_LISTED_DEVICES for table in tables):
        return None
    n = 1 + max((i for table in tables for group in table.groups for i in group), default=0)
    return GroupTable(tables[0].ids, [tuple(range(n))]) if n <= MAX_LISTED_DEVICES else None


def rewrite_for_table(m: IndexingMap, table: GroupTable, common: GroupTable) -> list[IndexingMap] | None:
    """Rewrite a map of one table for a common table: the same table, or one group of all devices in order.

    This is possible if each group is a line along one axis of a row-major array of all devices, or if the map leads
    from one position to one other; the latter gives a map for each run of devices with equal distance.  None otherwise.
    """
    if have_same_groups(table, common):
        return [m]
    n = common.n_devices
    if list(map(tuple, common.groups)) != [tuple(range(n))]:
        return None
    stride = _group_stride(table, n)
    if stride is not None:
        return [_rewrite_along_axis(m, stride, len(table.groups[0]), n)]
    return _rewrite_point_to_point(m, table)


def _group_stride(table: GroupTable, n: int) -> int | None:
    """The k with device ``(g div k) * k * size + p * k + g mod k`` at position p of group g, for all g and p."""
    size = len(table.groups[0]) if len(table.groups) else 0
    if not size or size * len(table.groups) != n:
        return None
    k = table.groups[0][1] - table.groups[0][0] if size > 1 else 1
    expected = (tuple(g // k * k * size + p * k + g % k for p in range(size)) for g in range(len(table.groups)))
    return k if k > 0 and all(tuple(a) == b for a, b in zip(table.groups, expected, strict=True)) else None


def _rewrite_along_axis(m: IndexingMap, k: int, size: int, n: int) -> IndexingMap:
    rank = len(m.dims) - 2
    device = Expr.dim(rank + 1)
    group, position = device // (k * size) * k + device % k, device // k % size
    dims = [*(Expr.dim(i) for i in range(rank)), group, position]

    def rewrite(exprs: Sequence[Expr]) -> list[Expr]:
        *index, g, p = (e.substitute(dims=dims) for e in exprs)
        return [*index, Expr.constant(0), g // k * (k * size) + p * k + g % k]

    bounds = [(e, v.lower, v.upper) for e, v in zip((group, position), m.dims[rank:], strict=True)]
    return IndexingMap(
        [*m.dims[:rank], ("group", 0, 0), ("position", 0, n - 1)],
        rewrite(m.results),
        ranges=m.ranges,
        runtime=[Variable(v.name, v.lower, v.upper, source=v.source, element=rewrite(v.element)) for v in m.runtime],
        constraints=[*((c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints), *bounds],
    ).simplify(keep_point_dims=True)


def _rewrite_point_to_point(m: IndexingMap, table: GroupTable) -> list[IndexingMap] | None:
    rank = len(m.dims) - 2
    source, target = m.dims[rank + 1], m.results[-1]
    origin = [*(Expr.dim(i) for i in range(rank)), Expr.constant(0), Expr.constant(0)]
    uses_device = any(e.substitute(dims=origin) != e for e in (*m.results[:-2], *(c.expr for c in m.constraints)))
    if m.runtime or uses_device or target.kind != "constant" or source.lower != source.upper:
        return None
    if m.results[-2] != Expr.dim(rank) or target.value is None:
        return None
    groups = list(table.groups)[m.dims[rank].lower : m.dims[rank].upper + 1]
    runs: list[list[int]] = []  # first and last device, and the distance to the other device
    for here, there in sorted({(group[source.lower], group[target.value]) for group in groups}):
        last = runs[-1] if runs else None
        if last is not None and last[1] + 1 == here and last[2] == there - here:
            last[1] = here
        else:
            runs.append([here, here, there - here])
    return [
        IndexingMap(
            [*m.dims[:rank], ("group", 0, 0), ("position", first, last)],
            [*m.results[:-2], 0, Expr.dim(rank + 1) + step],
            ranges=m.ranges,
            constraints=m.constraints,
        ).simplify(keep_point_dims=True)
        for first, last, step in runs
    ]


_OTHER_DEVICE_SOURCES = 3 << 61
"""The first number for runtime sources on other devices; no instruction has such a number."""


def rename_sources(
    first: Sequence[IndexingMap], suppliers: Mapping[int, Instruction], second: Sequence[IndexingMap]
) -> tuple[tuple[IndexingMap, ...], dict[int, Instruction]]:
    """The maps before a collective, with new runtime sources.

    The value of a source may differ from device to device.
    """
    used = {v.source for m in (*first, *second) for v in m.runtime if v.source is not None}
    before = sorted({v.source for m in first for v in m.runtime if v.source is not None})
    unused = max(_OTHER_DEVICE_SOURCES, *(source + 1 for source in used)) if used else _OTHER_DEVICE_SOURCES
    numbers = {source: unused + i for i, source in enumerate(before)}
    renamed = tuple(m.remap_sources(numbers) if m.runtime else m for m in first)
    return renamed, {numbers[source]: supplier for source, supplier in suppliers.items() if source in numbers}
