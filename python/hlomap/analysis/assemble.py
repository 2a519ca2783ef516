"""Converts the records of a propagation to sets of maps.

:func:`assemble` is the entry point: a set is made once, from a record that is complete.  Its maps have their shape
index, use and suppliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..base.answers import Unknown
from ..maps.device_groups import DeviceIndexing, GroupTable
from ..maps.map_set import MapSet, unknown_devices

if TYPE_CHECKING:
    from .._core import _Record
    from .questions import Questions


class DeviceRecords(NamedTuple):
    """The records of a propagation between devices, by number; of a value without one nothing is read."""

    table: GroupTable
    records: Mapping[int, _Record]

    def indexing(self, number: int) -> DeviceIndexing:
        """The device indexing of a value."""
        record = self.records.get(number)
        if record is None:
            return DeviceIndexing(self.table.ids, self.table.groups, MapSet())
        if record.unknown is not None:
            return unknown_devices(record.unknown)
        maps = MapSet(record.maps, exact=record.exact, reason=record.reason)
        return DeviceIndexing(self.table.ids, self.table.groups, maps)


NOT_REQUESTED = Unknown("maps between devices come from hm.indexing")


def assemble(
    record: _Record, questions: Questions | None = None, between: DeviceRecords | Unknown = NOT_REQUESTED
) -> MapSet:
    """The set of a record; ``between`` are the records of the same question between devices.

    ``questions`` replace runtime variables whose values are known at compile time.
    """
    if record.unknown is not None:
        return MapSet.unknown(record.unknown)
    found: _Record | MapSet = record
    maps, uses, devices = record.maps, record.uses, None
    if record.crosses_devices:
        devices = unknown_devices(between.reason) if isinstance(between, Unknown) else between.indexing(record.number)
    if questions is not None and record.has_runtime:
        from .known_indices import at_known_positions, known_maps  # most modules have no runtime variables

        if devices is not None:
            there = at_known_positions(devices, questions)
            if isinstance(there, MapSet):
                found, maps, devices = there, [*there], None
            else:
                devices = there
        maps = known_maps(maps, questions)
    by_map = (
        {(m.shape_index, m): own for m, own in zip(maps, uses, strict=True)} if uses and maps is record.maps else None
    )
    return MapSet(maps, exact=found.exact, reason=found.reason, uses=by_map, devices=devices)
