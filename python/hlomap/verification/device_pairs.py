"""Enumerates the pairs (element on a device, element on a device) of a device indexing.

:func:`enumerate_device_pairs` is the entry point.  As in :mod:`hlomap.maps.enumerate_pairs`, no map is
composed or simplified, so the pairs do not depend on the code under test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..maps.device_groups import DeviceIndexing, group_table
from ..maps.enumerate_pairs import EnumerationLimitError, Ints, enumerate_pairs


def enumerate_device_pairs(
    devices: DeviceIndexing,
    shape_index: tuple[int, ...],
    sizes: Sequence[int],
    target: Sequence[int],
    values: Sequence[Mapping[int, Any]],
    grid: tuple[int, int],
    rows: Ints,
    limit: int,
) -> tuple[set[tuple[int, ...]], set[int]]:
    """The pairs of the maps to one array for these source elements, and the devices that are in a group.

    A pair is the row-major numbers of a source element and of a target element, and the devices of both.
    ``values`` has the arrays of the runtime sources for each device, ``grid`` the numbers of replicas and partitions.
    """
    table_sizes = len(devices.groups), max((size for _, size in group_table(devices).runs()), default=0)
    n = table_sizes[0] * table_sizes[1]
    if n * max(1, len(rows)) > limit:
        raise EnumerationLimitError(f"the table of groups has {n} positions")
    rows_on_devices = (rows[:, None] * n + np.arange(n)).reshape(-1)
    pairs: set[tuple[int, ...]] = set()
    grouped: set[int] = set()
    for groups in _device_tables(devices, grid):
        grouped.update(device for group in groups for device in group)
        for m in devices.maps:
            if m.shape_index != shape_index:
                continue
            sources = {v.source for v in m.runtime if v.source is not None}
            held = {source: _stack_values(source, groups, table_sizes[1], values) for source in sources}
            numbers = enumerate_pairs(m, (*sizes, *table_sizes), (*target, *table_sizes), held, limit, rows_on_devices)
            for pair in zip(*(x.tolist() for x in numbers), strict=True):
                (d, g, p), (e, h, q) = (_split_number(number, table_sizes) for number in pair)
                if p < len(groups[g]) and q < len(groups[h]):
                    pairs.add((d, e, groups[g][p], groups[h][q]))
    return pairs, grouped


def _stack_values(
    source: int, groups: Sequence[Sequence[int]], group_size: int, values: Sequence[Mapping[int, Any]]
) -> Any:
    """A runtime source as one array whose last dimensions are group and position; short groups repeat a device."""
    if any(source not in of_device for of_device in values):
        raise EnumerationLimitError("a runtime variable has a source without a value")
    by_group = [[values[group[min(p, len(group) - 1)]][source] for p in range(group_size)] for group in groups]
    return np.stack([np.stack(row, axis=-1) for row in by_group], axis=-2)


def _split_number(number: int, table_sizes: tuple[int, int]) -> tuple[int, int, int]:
    """Element, group and position of a row-major number."""
    rest, position = divmod(number, table_sizes[1])
    return (*divmod(rest, table_sizes[0]), position)


def _device_tables(devices: DeviceIndexing, grid: tuple[int, int]) -> Iterator[list[list[int]]]:
    """The groups as device numbers: groups of replicas for each partition, groups of partitions for each replica."""
    groups = [list(group) for group in devices.groups]
    if devices.ids == "device":
        yield groups
    for partition in range(grid[1]) if devices.ids == "replica" else ():
        yield [[i * grid[1] + partition for i in group] for group in groups]
    for replica in range(grid[0]) if devices.ids == "partition" else ():
        yield [[replica * grid[1] + i for i in group] for group in groups]
