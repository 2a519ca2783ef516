"""The groups of devices that exchange arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["MANY", "GroupTable"]

MANY = 1 << 16
"""Devices that are gone through one by one to see how groups go together."""


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups of a collective operation; ``ids`` says whether they name replicas, partitions or device numbers."""

    ids: str
    groups: Sequence[Sequence[int]]

    @property
    def n_listed(self) -> int:
        """How many devices are listed, without listing them."""
        return sum((last - first + 1) * n for (first, last), n in self.runs())

    def runs(self) -> list[tuple[tuple[int, int], int]]:
        """First and last of neighbouring groups of one size, with that size."""
        size = getattr(self.groups, "group_size", None)
        if size is not None:
            return [((0, len(self.groups) - 1), size)]
        found: list[tuple[tuple[int, int], int]] = []
        for number, group in enumerate(self.groups):
            if found and found[-1][1] == len(group):
                found[-1] = ((found[-1][0][0], number), len(group))
            else:
                found.append(((number, number), len(group)))
        return found
