"""Converts the records of a propagation to sets of maps.

:func:`assemble` is the entry point.  A record is complete: its maps have their shape index, use and suppliers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..maps.device_groups import DeviceIndexing, GroupTable
from ..maps.map_set import MapSet, unknown_devices

if TYPE_CHECKING:
    from .._core import _Record


def assemble(record: _Record, devices: Callable[[int], DeviceIndexing]) -> MapSet:
    """The set of a record; ``devices`` returns the device indexing of a record by its number."""
    if record.unknown is not None:
        return MapSet.unknown(record.unknown)
    maps, uses = record.maps, record.uses
    return MapSet(
        maps,
        exact=record.exact,
        reason=record.reason,
        uses=None if uses is None else {(m.shape_index, m): found for m, found in zip(maps, uses, strict=True)},
        devices=devices(record.number) if record.crosses_devices else None,
    )


def assemble_devices(records: Sequence[_Record], table: GroupTable) -> Callable[[int], DeviceIndexing]:
    """The device indexing of each record of a propagation between devices, by number."""
    found: dict[int, DeviceIndexing] = {}
    for record in records:
        if record.unknown is not None:
            found[record.number] = unknown_devices(record.unknown)
        else:
            maps = MapSet(record.maps, exact=record.exact, reason=record.reason)
            found[record.number] = DeviceIndexing(table.ids, table.groups, maps)
    return lambda number: found.get(number) or DeviceIndexing(table.ids, table.groups, MapSet())


def crosses_devices(records: Sequence[_Record]) -> bool:
    """Whether any elements may be on other devices."""
    return any(record.crosses_devices for record in records)


def unknown_for_all_records(reason: str) -> Callable[[int], DeviceIndexing]:
    """A function from a record's number to an unknown device indexing, with this reason."""
    devices = unknown_devices(reason)
    return lambda number: devices


devices_not_requested: Callable[[int], DeviceIndexing] = unknown_for_all_records(
    "maps between devices come from hm.indexing"
)
