"""The least bytes that tiles move for each size of memory on the chip.

:func:`frontier` is the entry point.  It tries all sizes if they are not too many; else the least size for each number
of tiles of a parallel parameter, and powers of two for sequential ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ..base.attached import Page
from ..base.devices import Device
from ..base.lazy import np, npt
from ..base.text import table_lines
from ..base.types import read_only
from .candidates import powers

if TYPE_CHECKING:
    from .tiling import Tiling

_MOST = 300_000


@dataclass(frozen=True, eq=False)
class TileFrontier(Page):
    """Candidates that move fewer bytes than all others with no more memory on the chip: one per row, smallest first."""

    tiling: Tiling
    device: Device | None
    on_chip_bytes: npt.NDArray[np.int64]
    """Bytes of one tile of everything that is read and written."""
    moved_bytes: npt.NDArray[np.int64]
    """Bytes that all tiles read and write."""
    candidates: npt.NDArray[np.int64]
    """The sizes, a column for each parameter."""
    floor_bytes: int
    """The bytes that any tiling moves: every element once."""

    def __len__(self) -> int:
        return len(self.on_chip_bytes)

    def at(self, on_chip_bytes: int) -> int | None:
        """The row with the fewest bytes moved for this much memory; None if it is too little for any tile."""
        row = int(np.searchsorted(self.on_chip_bytes, on_chip_bytes, side="right")) - 1
        return row if row >= 0 else None

    def sizes(self) -> list[tuple[int, str]]:
        """The sizes of memory in the listing: powers of two, and the sizes of the device."""
        if not len(self):
            return []
        low, high = (int(self.on_chip_bytes[k] - 1).bit_length() for k in (0, -1))
        step = -(-(high - low + 1) // 16)
        shown = [(1 << k, "") for k in range(high, low - 1, -step)]
        if self.device is not None:
            levels = (("shared memory", self.device.shared_bytes_per_block), ("cache", self.device.cache_bytes))
            shown += [(size, f"{what} of {self.device.name}") for what, size in levels if self.at(size) is not None]
        return sorted(shown)

    def __str__(self) -> str:
        names = [p.name for p in self.tiling.params]
        rows = [["on chip", "bytes moved", "x least", *names, ""]]
        for size, what in self.sizes():
            row = self.at(size)
            if row is not None:
                moved = int(self.moved_bytes[row])
                tile = [f"{n:,}" for n in self.candidates[row].tolist()]
                rows.append([f"{size:,}", f"{moved:,}", f"{moved / max(1, self.floor_bytes):.2f}", *tile, what])
        return "\n".join(table_lines(rows, left=[len(rows[0]) - 1]))


def frontier(t: Tiling, device: Device | None) -> TileFrontier:
    """See :meth:`hlomap.Tiling.frontier`."""
    choices = [_least_sizes(p.size) if p.kind == "parallel" else powers(max(1, p.size)) for p in t.params]
    if prod(max(1, p.size) for p in t.params) <= _MOST:
        choices = [list(range(1, max(1, p.size) + 1)) for p in t.params]
    while prod(map(len, choices)) > _MOST:
        longest = max(choices, key=len)
        # Every other size, including the whole.
        longest[:] = sorted(longest[::-1][::2])
    rows = np.zeros((1, 0), np.int64)
    if choices:
        rows = np.stack(np.meshgrid(*map(np.array, choices), indexing="ij"), axis=-1).reshape(-1, len(choices))
    columns = ["legal", "live_bytes", "read_bytes", "write_bytes", "dram_bytes_lower"]
    table = t.evaluate(rows, columns=columns, threads=0)
    legal = np.flatnonzero(table["legal"])
    on_chip = table["live_bytes"][legal]
    moved = table["read_bytes"][legal].sum(axis=1) + table["write_bytes"][legal]
    order = np.lexsort([moved, on_chip])
    on_chip, moved, legal = on_chip[order], moved[order], legal[order]
    before = np.concatenate([[np.iinfo(np.int64).max], np.minimum.accumulate(moved)[:-1]])[: len(moved)]
    best = moved < before
    floor = int(table["dram_bytes_lower"].max(initial=0))
    on_chip, moved, sizes = map(read_only, (on_chip[best], moved[best], rows[legal[best]]))
    return TileFrontier(t, device, on_chip, moved, sizes, floor)


def _least_sizes(n: int) -> list[int]:
    sizes, tiles = [], 1
    while tiles <= n:
        size = -(-n // tiles)
        sizes.append(size)
        tiles = -(-n // (size - 1)) if size > 1 else n + 1
    return sorted(sizes) or [1]
