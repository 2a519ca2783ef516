"""The tiles of two shardings of one array, device by device, as arrays.

Rows are devices in ascending order, columns are dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from ..base.lazy import np, npt
from ..errors import UnsupportedError
from ..maps.enumerate_pairs import unravel_points
from .assignment import Assignment
from .orders import Ints

Flags: TypeAlias = "npt.NDArray[np.bool_]"

MAX_DEVICES = 1 << 22


@dataclass(frozen=True, eq=False)
class Tiles:
    """The tile that each device holds."""

    assignment: Assignment
    devices: Ints
    """The devices, in ascending order."""
    numbers: Ints
    """The number of each device's tile; replicas of a tile have the same number."""

    @classmethod
    def of(cls, assignment: Assignment) -> Tiles:
        """The tiles of an assignment; raises :class:`~hlomap.errors.UnsupportedError` for more than 2**22 devices."""
        if assignment.n_devices > MAX_DEVICES:
            raise UnsupportedError(f"{assignment.n_devices} devices; at most {MAX_DEVICES} are listed")
        devices = assignment.devices()
        order = np.argsort(devices, kind="stable")
        return cls(assignment, devices[order], order.astype(np.int64) // assignment.n_replicas)

    @cached_property
    def positions(self) -> Ints:
        """``[device, dimension]``: the position of the tile along each dimension."""
        return unravel_points(self.numbers, self.assignment.tiles)

    @cached_property
    def bounds(self) -> tuple[Ints, Ints]:
        """``[device, dimension]``: the first index, and the exclusive end."""
        sizes = np.array(self.assignment.shape.dimensions, np.int64)
        s = np.array(self.assignment.tile_sizes, np.int64)
        return np.minimum(self.positions * s, sizes), np.minimum((self.positions + 1) * s, sizes)

    @cached_property
    def n_elements(self) -> Ints:
        """The number of elements of each device."""
        low, high = self.bounds
        return np.asarray(np.prod(high - low, axis=1, dtype=np.int64))

    def rows_of(self, devices: Ints) -> tuple[Ints, Flags]:
        """The rows of devices, and whether each device has one."""
        return rows_among(self.devices, devices)

    def parts_of(self, devices: Ints) -> tuple[Ints, Ints, Flags]:
        """For each device the first index, the exclusive end, and whether it has any elements; zeros if not."""
        rows, has_row = self.rows_of(devices)
        low, high = self.bounds
        low, high = low[rows], high[rows]
        has_part: Flags = has_row & np.all(low < high, axis=1)
        return low * has_part[:, None], high * has_part[:, None], has_part


def rows_among(listed: Ints, devices: Ints) -> tuple[Ints, Flags]:
    """The rows of devices in an ascending list, and whether each is in it; the row of a missing device is arbitrary."""
    if np.array_equal(listed, devices):
        return np.arange(len(devices)), np.ones(len(devices), np.bool_)
    rows = np.minimum(np.searchsorted(listed, devices), len(listed) - 1)
    return rows, listed[rows] == devices


def all_devices(a: Ints, b: Ints) -> Ints:
    """The devices of two ascending lists, in ascending order."""
    return a if np.array_equal(a, b) else np.unique(np.concatenate([a, b]), return_index=True)[0]


def overlap(held: Tiles, needed: Tiles) -> Ints:
    """For each device of ``needed`` the number of elements that it has in both tiles."""
    rows, has_row = held.rows_of(needed.devices)
    return np.where(has_row, n_common(held, rows, needed, slice(None)), 0)


def n_common(held: Tiles, at: Ints | int, needed: Tiles, to: Ints | slice) -> Ints:
    """The number of elements that tiles of rows ``at`` of one share with tiles of rows ``to`` of the other."""
    (low, high), (needed_low, needed_high) = held.bounds, needed.bounds
    sides = np.minimum(high[at], needed_high[to]) - np.maximum(low[at], needed_low[to])
    return np.asarray(np.prod(np.maximum(sides, 0), axis=1, dtype=np.int64))


def rank_within(keys: Ints) -> Ints:
    """For each item the number of items before it with the same key.

    >>> rank_within(np.array([5, 3, 5, 5, 3])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    first = np.maximum.accumulate(np.where(is_first, np.arange(len(keys)), 0))
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(keys)) - first
    return found
