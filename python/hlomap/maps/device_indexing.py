"""On which devices elements are: maps with a group and a position in it, and the table of groups.

Read :class:`DeviceIndexing` first.  The law: behind the dimensions and the results of each map come the group and the
position, behind the index of a runtime variable those of the device that holds the value.  Each map stays within a
group, so maps with one table follow each other as any maps do; those with several are first brought to one group of
all devices (:func:`in_one_group`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Expr, IndexingMap, Variable
from .device_groups import MANY, GroupTable
from .enumerate_pairs import Ints, TooMany, enumerate_pairs

if TYPE_CHECKING:
    from .map_set import MapSet

__all__ = [
    "NO_COMMON_GROUP",
    "DeviceIndexing",
    "GroupTable",
    "all_as_one",
    "each_once",
    "in_one_group",
    "lifted",
    "said_of_devices",
    "same_groups",
]


@dataclass(frozen=True, slots=True)
class DeviceIndexing:
    """Which element on which device belongs to an element on a device.

    ``groups`` lists the devices that work together, numbers of what ``ids`` says: ``replica`` (all of one partition),
    ``partition`` (all of one replica), or ``device``, which is ``replica * num_partitions + partition``.  ``maps`` go
    from (index..., group, position) to (index..., group, position), where ``groups[group][position]`` is the device.
    Devices that are in no group have no elements in them.  Of a permutation the groups are its pairs.

    >>> import hlomap as hm
    >>> gather = hm.parse('''ENTRY e {
    ...   p = f32[2] parameter(0)
    ...   ROOT g = f32[6] all-gather(p), replica_groups={{0,2,4},{1,3,5}}, dimensions={0}
    ... }''').entry.root
    >>> there = hm.output_to_input(gather)[0].devices
    >>> list(there.groups), there.ids
    ([(0, 2, 4), (1, 3, 5)], 'replica')
    >>> print(there.maps)
    (d0, group, position) -> (d0 mod 2, group, d0 floordiv 2), domain: d0 in [0, 5], group in [0, 1], position in [0, 2]
    """

    ids: str
    groups: Sequence[Sequence[int]]
    maps: MapSet

    @property
    def table(self) -> GroupTable:
        return GroupTable(self.ids, self.groups)


def same_groups(a: GroupTable, b: GroupTable) -> bool:
    if a.ids != b.ids or a.n_listed != b.n_listed or len(a.groups) != len(b.groups):
        return False
    # Of many devices it is not known where one is written out and the other is not.
    if type(a.groups) is type(b.groups) or a.n_listed > MANY:
        return bool(a.groups == b.groups)
    return all(tuple(x) == tuple(y) for x, y in zip(a.groups, b.groups, strict=True))


def each_once(table: GroupTable) -> bool:
    """Whether a device has one group and position: else it would have to be looked for under its other ones, too."""
    if table.n_listed > MANY:
        written = getattr(table.groups, "iota", None) or getattr(table.groups, "mesh", None)
        return len(table.groups) == 1 or written is not None
    members = [i for group in table.groups for i in group]
    return len(set(members)) == len(members)


def lifted(m: IndexingMap, table: GroupTable) -> list[IndexingMap]:
    """The same on every device: a map for each run of groups of one size."""
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


# ----------------------------------------------------------------------------------------- several tables become one

NO_COMMON_GROUP = "groups of several kinds, or a device in several groups"


def all_as_one(tables: Sequence[GroupTable]) -> GroupTable | None:
    """All devices that are in any of these as one group, in order; None where their numbers mean different things."""
    if len({table.ids for table in tables}) != 1 or any(table.n_listed > MANY for table in tables):
        return None
    n = 1 + max((i for table in tables for group in table.groups for i in group), default=0)
    return GroupTable(tables[0].ids, [tuple(range(n))]) if n <= MANY else None


def in_one_group(m: IndexingMap, table: GroupTable, n: int) -> list[IndexingMap] | None:
    """The same map where all ``n`` devices are one group, so that the position is the device.

    A group is the devices along one axis of an array of all of them, or a map goes from one position to one other:
    then it is one map for each stretch of devices that goes alike.  None for other groups.
    """
    stride = _stride(table, n)
    if stride is not None:
        return [_by_axis(m, stride, len(table.groups[0]), n)]
    return _by_pair(m, table, n)


def _stride(table: GroupTable, n: int) -> int | None:
    """The distance of neighbours in a group, where device (g div k) * k * size + p * k + g mod k is at (g, p)."""
    size = len(table.groups[0]) if len(table.groups) else 0
    if not size or size * len(table.groups) != n:
        return None
    k = table.groups[0][1] - table.groups[0][0] if size > 1 else 1
    expected = (tuple(g // k * k * size + p * k + g % k for p in range(size)) for g in range(len(table.groups)))
    return k if k > 0 and all(tuple(group) == own for group, own in zip(table.groups, expected, strict=True)) else None


def _by_axis(m: IndexingMap, k: int, size: int, n: int) -> IndexingMap:
    rank = len(m.dims) - 2
    device = Expr.dim(rank + 1)
    group, position = device // (k * size) * k + device % k, device // k % size
    dims = [*(Expr.dim(i) for i in range(rank)), group, position]

    def moved(exprs: Sequence[Expr]) -> list[Expr]:
        *index, g, p = (e.substitute(dims=dims) for e in exprs)
        return [*index, Expr.constant(0), g // k * (k * size) + p * k + g % k]

    here = [(e, v.lower, v.upper) for e, v in zip((group, position), m.dims[rank:], strict=True)]
    return IndexingMap(
        [*m.dims[:rank], ("group", 0, 0), ("position", 0, n - 1)],
        moved(m.results),
        ranges=m.ranges,
        runtime=[Variable(v.name, v.lower, v.upper, source=v.source, index=moved(v.index)) for v in m.runtime],
        constraints=[*((c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints), *here],
    ).simplify(keep_point_dims=True)


def _by_pair(m: IndexingMap, table: GroupTable, n: int) -> list[IndexingMap] | None:
    rank = len(m.dims) - 2
    position, other = m.dims[rank + 1], m.results[-1]
    nowhere = [*(Expr.dim(i) for i in range(rank)), Expr.constant(0), Expr.constant(0)]
    elsewhere = any(e.substitute(dims=nowhere) != e for e in (*m.results[:-2], *(c.expr for c in m.constraints)))
    if m.runtime or elsewhere or other.kind != "constant" or position.lower != position.upper:
        return None
    if m.results[-2] != Expr.dim(rank) or other.value is None:
        return None
    groups = list(table.groups)[m.dims[rank].lower : m.dims[rank].upper + 1]
    stretches: list[list[int]] = []
    for here, there in sorted({(group[position.lower], group[other.value]) for group in groups}):
        last = stretches[-1] if stretches else None
        if last is not None and last[1] + 1 == here and last[2] == there - here:
            last[1] = here
        else:
            stretches.append([here, here, there - here])
    return [
        IndexingMap(
            [*m.dims[:rank], ("group", 0, 0), ("position", first, last)],
            [*m.results[:-2], 0, Expr.dim(rank + 1) + step],
            ranges=m.ranges,
            constraints=m.constraints,
        ).simplify(keep_point_dims=True)
        for first, last, step in stretches
    ]


# ------------------------------------------------------------------------------------------------------ point by point

On = tuple[int, int]
"""The row-major number of an element, and of the device that it is on."""


def said_of_devices(
    there: DeviceIndexing,
    leaf: tuple[int, ...],
    sizes: Sequence[int],
    target: Sequence[int],
    values: Sequence[Mapping[int, Any]],
    grid: tuple[int, int],
    rows: Ints,
    limit: int,
) -> tuple[set[tuple[On, On]], set[int]]:
    """The pairs that the maps to a leaf stand for, of these rows, and the devices that are in a group.

    ``values`` has for each device what its runtime sources hold, ``grid`` the numbers of replicas and partitions.
    """
    places = len(there.groups), max((size for _, size in there.table.runs()), default=0)
    n = places[0] * places[1]
    if n * max(1, len(rows)) > limit:
        raise TooMany(f"{n} devices")
    at_places = (rows[:, None] * n + np.arange(n)).reshape(-1)
    said: set[tuple[On, On]] = set()
    known: set[int] = set()
    for groups in _numbered(there, grid):
        known.update(device for group in groups for device in group)
        for m in there.maps:
            if m.index != leaf:
                continue
            sources = {v.source for v in m.runtime if v.source is not None}
            held = {source: _at_places(source, groups, places, values) for source in sources}
            found = enumerate_pairs(m, (*sizes, *places), (*target, *places), held, limit, at_places)
            for pair in zip(*(x.tolist() for x in found), strict=True):
                (d, g, p), (e, h, q) = (_split(number, places) for number in pair)
                if p < len(groups[g]) and q < len(groups[h]):
                    said.add(((d, groups[g][p]), (e, groups[h][q])))
    return said, known


def _at_places(
    source: int, groups: Sequence[Sequence[int]], places: tuple[int, int], values: Sequence[Mapping[int, Any]]
) -> Any:
    """What a source holds on the device at each place; groups that are shorter than others repeat a device."""
    if any(source not in of for of in values):
        raise TooMany("a runtime source without a value")
    by_group = [[values[group[min(p, len(group) - 1)]][source] for p in range(places[1])] for group in groups]
    return np.stack([np.stack(row, axis=-1) for row in by_group], axis=-2)


def _split(number: int, places: tuple[int, int]) -> tuple[int, int, int]:
    """Element, group and position of a row-major number."""
    rest, position = divmod(number, places[1])
    return (*divmod(rest, places[0]), position)


def _numbered(there: DeviceIndexing, grid: tuple[int, int]) -> Iterator[list[list[int]]]:
    """The table with device numbers; of replicas once for each partition, of partitions once for each replica."""
    listed = [list(group) for group in there.groups]
    if there.ids == "device":
        yield listed
    for partition in range(grid[1]) if there.ids == "replica" else ():
        yield [[i * grid[1] + partition for i in group] for group in listed]
    for replica in range(grid[0]) if there.ids == "partition" else ():
        yield [[replica * grid[1] + i for i in group] for group in listed]
