"""Device indexing: maps whose dimensions and results include a device, and the table of device groups they refer to.

Read :class:`DeviceIndexing` first.  The law: the last two dimensions and the last two results of each map are a group
and a position in the group; the last two entries of a runtime variable's index are those of the device that holds the
value.  Each map stays within a group, so maps with one table compose as any maps do; maps with different tables are
first rewritten for one group of all devices (:func:`in_one_group`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Expr, IndexingMap, Variable
from .device_groups import MANY, GroupTable
from .enumerate_pairs import EnumerationLimitError, Ints, enumerate_pairs

if TYPE_CHECKING:
    from .map_set import MapSet

__all__ = [
    "NO_COMMON_GROUP",
    "DeviceIndexing",
    "GroupTable",
    "all_as_one",
    "each_once",
    "enumerate_device_pairs",
    "in_one_group",
    "lifted",
    "same_groups",
]


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

    @property
    def table(self) -> GroupTable:
        return GroupTable(self.ids, self.groups)


def same_groups(a: GroupTable, b: GroupTable) -> bool:
    """Whether two tables have equal groups in one order; False where that is not known for very large ones."""
    if a.ids != b.ids or a.n_listed != b.n_listed or len(a.groups) != len(b.groups):
        return False
    # Tables of many devices are compared only in one notation: expanding an iota would be too slow.
    if type(a.groups) is type(b.groups) or a.n_listed > MANY:
        return bool(a.groups == b.groups)
    return all(tuple(x) == tuple(y) for x, y in zip(a.groups, b.groups, strict=True))


def each_once(table: GroupTable) -> bool:
    """Whether no device is in two positions, so that a position can be identified with its device."""
    if table.n_listed > MANY:
        written = getattr(table.groups, "iota", None) or getattr(table.groups, "mesh", None)
        return len(table.groups) == 1 or written is not None
    members = [i for group in table.groups for i in group]
    return len(set(members)) == len(members)


def lifted(m: IndexingMap, table: GroupTable) -> list[IndexingMap]:
    """The map applied on each device by itself: one map for each run of groups of one size."""
    rank = len(m.dims)
    here = [Expr.dim(rank), Expr.dim(rank + 1)]
    runtime = [
        Variable(v.name, v.lower, v.upper, source=v.source, index=[*v.index, *here])
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


# ------------------------------------------------------------------------------------------------------ merging tables

NO_COMMON_GROUP = "groups of several kinds, or a device in several groups"


def all_as_one(tables: Sequence[GroupTable]) -> GroupTable | None:
    """One group of all devices up to the largest number; None for tables of different kinds, or too many devices."""
    if len({table.ids for table in tables}) != 1 or any(table.n_listed > MANY for table in tables):
        return None
    n = 1 + max((i for table in tables for group in table.groups for i in group), default=0)
    return GroupTable(tables[0].ids, [tuple(range(n))]) if n <= MANY else None


def in_one_group(m: IndexingMap, table: GroupTable, n: int) -> list[IndexingMap] | None:
    """The same map for the table whose only group is all ``n`` devices, so that the position is the device.

    Possible where each group is a line along one axis of a row-major array of all devices, or where the map goes from
    one position to one other; the latter gives one map for each run of devices with equal distance.  None elsewhere.
    """
    stride = _group_stride(table, n)
    if stride is not None:
        return [_rewrite_along_axis(m, stride, len(table.groups[0]), n)]
    return _rewrite_point_to_point(m, table, n)


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
        runtime=[Variable(v.name, v.lower, v.upper, source=v.source, index=rewrite(v.index)) for v in m.runtime],
        constraints=[*((c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints), *bounds],
    ).simplify(keep_point_dims=True)


def _rewrite_point_to_point(m: IndexingMap, table: GroupTable, n: int) -> list[IndexingMap] | None:
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


# --------------------------------------------------------------------------------------------------------- enumeration

ElementOnDevice = tuple[int, int]
"""The row-major number of an element, and the number of its device."""


def enumerate_device_pairs(
    devices: DeviceIndexing,
    leaf: tuple[int, ...],
    sizes: Sequence[int],
    target: Sequence[int],
    values: Sequence[Mapping[int, Any]],
    grid: tuple[int, int],
    rows: Ints,
    limit: int,
) -> tuple[set[tuple[ElementOnDevice, ElementOnDevice]], set[int]]:
    """The pairs of the maps to one array, for these source elements, and the devices that are in a group.

    ``values`` has the arrays of the runtime sources for each device, ``grid`` the numbers of replicas and partitions.
    """
    table_sizes = len(devices.groups), max((size for _, size in devices.table.runs()), default=0)
    n = table_sizes[0] * table_sizes[1]
    if n * max(1, len(rows)) > limit:
        raise EnumerationLimitError(f"the table of groups has {n} positions")
    rows_on_devices = (rows[:, None] * n + np.arange(n)).reshape(-1)
    pairs: set[tuple[ElementOnDevice, ElementOnDevice]] = set()
    grouped: set[int] = set()
    for groups in _device_tables(devices, grid):
        grouped.update(device for group in groups for device in group)
        for m in devices.maps:
            if m.index != leaf:
                continue
            sources = {v.source for v in m.runtime if v.source is not None}
            held = {source: _stack_values(source, groups, table_sizes[1], values) for source in sources}
            numbers = enumerate_pairs(m, (*sizes, *table_sizes), (*target, *table_sizes), held, limit, rows_on_devices)
            for pair in zip(*(x.tolist() for x in numbers), strict=True):
                (d, g, p), (e, h, q) = (_split_number(number, table_sizes) for number in pair)
                if p < len(groups[g]) and q < len(groups[h]):
                    pairs.add(((d, groups[g][p]), (e, groups[h][q])))
    return pairs, grouped


def _stack_values(
    source: int, groups: Sequence[Sequence[int]], group_size: int, values: Sequence[Mapping[int, Any]]
) -> Any:
    """A runtime source as one array with group and position as its last dimensions; short groups repeat a device."""
    if any(source not in of_device for of_device in values):
        raise EnumerationLimitError("a runtime variable has a source without a value")
    by_group = [[values[group[min(p, len(group) - 1)]][source] for p in range(group_size)] for group in groups]
    return np.stack([np.stack(row, axis=-1) for row in by_group], axis=-2)


def _split_number(number: int, table_sizes: tuple[int, int]) -> tuple[int, int, int]:
    """Element, group and position of a row-major number."""
    rest, position = divmod(number, table_sizes[1])
    return (*divmod(rest, table_sizes[0]), position)


def _device_tables(devices: DeviceIndexing, grid: tuple[int, int]) -> Iterator[list[list[int]]]:
    """The groups in device numbers: groups of replicas once per partition, groups of partitions once per replica."""
    groups = [list(group) for group in devices.groups]
    if devices.ids == "device":
        yield groups
    for partition in range(grid[1]) if devices.ids == "replica" else ():
        yield [[i * grid[1] + partition for i in group] for group in groups]
    for replica in range(grid[0]) if devices.ids == "partition" else ():
        yield [[replica * grid[1] + i for i in group] for group in groups]
