"""The groups of devices that exchange arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["MANY", "GroupTable"]

MANY = 1 << 16
"""Groups with more devices than this are not listed to be compared."""


@dataclass(frozen=True, slots=True)
class GroupTable:
    """The groups of a collective; ``ids`` is the kind of their numbers: ``replica``, ``partition`` or ``device``."""

    ids: str
    groups: Sequence[Sequence[int]]

    @property
    def n_listed(self) -> int:
        """The total size of the groups, without listing them."""
        return sum((last - first + 1) * n for (first, last), n in self.runs())

    def runs(self) -> list[tuple[tuple[int, int], int]]:
        """The first and last of each run of neighbouring groups with one size, and that size."""
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
