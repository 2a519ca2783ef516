"""From the records of a propagation to sets of maps.

:func:`assemble` is the entry point.  A record is complete: its maps know their shape index, use and suppliers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..maps.device_groups import GroupTable
from ..maps.device_indexing import DeviceIndexing
from ..maps.map_set import MapSet, not_followed

if TYPE_CHECKING:
    from .._core import _Record

__all__ = ["assemble", "assemble_devices", "crosses_devices", "unfollowed_devices", "unknown_devices"]


def assemble(record: _Record, devices: Callable[[int], DeviceIndexing]) -> MapSet:
    """The set of a record; ``devices`` gives, by number, where elements on other devices are."""
    number, unknown, exact, reason, crosses, maps, uses = record
    if unknown is not None:
        return MapSet.unknown(unknown)
    return MapSet(
        maps,
        exact=exact,
        reason=reason,
        uses=None if uses is None else {(m.index, m): found for m, found in zip(maps, uses, strict=True)},
        devices=devices(number) if crosses else None,
    )


def assemble_devices(records: Sequence[_Record], table: GroupTable) -> Callable[[int], DeviceIndexing]:
    """The device indexing of each record of a propagation between devices, by number."""
    found: dict[int, DeviceIndexing] = {}
    for number, unknown, exact, reason, _, maps, _ in records:
        if unknown is not None:
            found[number] = not_followed(unknown)
        else:
            found[number] = DeviceIndexing(table.ids, table.groups, MapSet(maps, exact=exact, reason=reason))
    return lambda number: found.get(number) or DeviceIndexing(table.ids, table.groups, MapSet())


def crosses_devices(records: Sequence[_Record]) -> bool:
    """Whether any elements may be on other devices."""
    return any(crosses for _, _, _, _, crosses, _, _ in records)


def unknown_devices(reason: str) -> Callable[[int], DeviceIndexing]:
    """The device indexing of every record where nothing is known, for this reason."""
    devices = not_followed(reason)
    return lambda number: devices


unfollowed_devices: Callable[[int], DeviceIndexing] = unknown_devices("the ways to other devices were not followed")
