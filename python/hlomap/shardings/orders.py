"""Orders of devices: the device of each tile, by tile number.

An order with strides is a mixed-radix number: the digits of the tile number, each times a stride, give the device.  All
iotas, also transposed ones, are such orders; :func:`find_strides` recognises them in a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TypeAlias

from ..base.lazy import np, npt

Ints: TypeAlias = "npt.NDArray[np.int64]"

Digit: TypeAlias = tuple[int, int]
"""The number of values of a digit, and the device stride of one step."""


@dataclass(frozen=True, slots=True)
class Strided:
    """Tiles in order, starting at ``first``: the device of tile ``first + t`` is ``base`` plus the sum of the digits of
    ``t``, most significant first, times their strides.

    >>> Strided(0, ((2, 1), (4, 2))).devices()
    array([0, 2, 4, 6, 1, 3, 5, 7])
    """

    base: int
    digits: tuple[Digit, ...]
    first: int = 0

    @property
    def n(self) -> int:
        return prod(n for n, _ in self.digits)

    @property
    def places(self) -> list[int]:
        """Place values of the digits in the number of the tile."""
        return place_values([n for n, _ in self.digits])

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest device."""
        lowest = highest = self.base
        for n, stride in self.digits:
            if stride < 0:
                lowest += (n - 1) * stride
            else:
                highest += (n - 1) * stride
        return lowest, highest

    def devices(self) -> Ints:
        """The device of each tile."""
        found = np.full(1, self.base, np.int64)
        for n, stride in self.digits:
            found = (found[:, None] + np.arange(n, dtype=np.int64) * stride).reshape(-1)
        return found

    def tile_of(self, device: int) -> int | None:
        """The number of a device's tile; None for a device without a tile.

        >>> Strided(0, ((2, 1), (4, 2))).tile_of(3), Strided(0, ((2, 1), (4, 2))).tile_of(8)
        (5, None)
        """
        left, t = device - self.bounds[0], self.first
        for (n, stride), place in sorted(zip(self.digits, self.places, strict=True), key=lambda item: -abs(item[0][1])):
            digit = min(max(left // abs(stride), 0), n - 1) if n > 1 else 0
            left -= digit * abs(stride)
            t += place * (digit if stride > 0 else n - 1 - digit)
        return t if left == 0 else None


def place_values(sizes: Sequence[int]) -> list[int]:
    """Place values of the dimensions in a row-major number.

    >>> place_values([2, 3, 4])
    [12, 4, 1]
    """
    found, place = [], 1
    for n in reversed(sizes):
        found.append(place)
        place *= n
    return found[::-1]


def find_strides(devices: Ints) -> Strided | None:
    """The order as digits and strides, if tiles and devices determine each other by division and remainder.

    >>> find_strides(np.array([1, 9, 5, 13])), find_strides(np.array([0, 1, 3, 2]))
    (Strided(base=1, digits=((2, 4), (2, 8)), first=0), None)
    >>> find_strides(np.array([2, 3, 0, 1]))
    Strided(base=2, digits=((2, -2), (2, 1)), first=0)
    """
    digits: list[Digit] = []
    rest = devices
    while len(rest) > 1:
        stride = int(rest[1] - rest[0])
        breaks = np.flatnonzero(np.diff(rest) != stride)
        n = int(breaks[0]) + 1 if len(breaks) else len(rest)
        rows = rest.reshape(-1, n) if len(rest) % n == 0 else None
        if rows is None or (rows - rows[:, :1] != np.arange(n) * stride).any():
            return None
        digits.insert(0, (n, stride))
        rest = rows[:, 0]
    found = Strided(int(devices[0]), tuple(digits))
    return found if _has_places(digits) else None


def _has_places(digits: Sequence[Digit]) -> bool:
    """Whether each stride is a multiple of the next smaller one and exceeds the sum that smaller digits can reach."""
    ordered = sorted((abs(stride), n) for n, stride in digits)
    return all(b % a == 0 and b >= a * n for (a, n), (b, _) in pairwise(ordered))


def split_into_runs(devices: Ints) -> list[Strided]:
    """Runs of tiles whose devices are equally spaced.

    >>> [run.digits for run in split_into_runs(np.array([0, 1, 2, 3, 7, 5]))]
    [((4, 1),), ((2, -2),)]
    """
    steps = np.diff(devices)
    last = len(devices) - 1
    found: list[Strided] = []
    first = 0
    for end in [*(np.flatnonzero(np.diff(steps)) + 1).tolist(), last]:
        if first > end or (first == end < last):  # the step before this tile belongs to the last run
            continue
        n = end - first + 1
        digits = ((n, int(steps[first])),) if n > 1 else ()
        found.append(Strided(int(devices[first]), digits, first))
        first = end + 1
    return found
