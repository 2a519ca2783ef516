"""The picture of a frontier of tiles: bytes moved for each size of memory, as bars."""

from __future__ import annotations

from ..tiles.frontier import TileFrontier
from .bars import Bar, bar_picture
from .picture import Picture

_MOST = 20
"""What moves more, as so many times the least, would leave all other bars too short to see."""


def draw_frontier(frontier: TileFrontier) -> Picture:
    """A bar for each size of memory: what any tiling moves, and what this size adds."""
    bars = []
    for size, what in frontier.sizes():
        row = frontier.at(size)
        if row is not None and frontier.moved_bytes[row] <= _MOST * frontier.floor_bytes:
            moved = int(frontier.moved_bytes[row])
            least = min(frontier.floor_bytes, moved)
            tile = ", ".join(map(str, frontier.candidates[row].tolist()))
            label = f"{what}, {size:,}" if what else f"{size:,}"
            bars.append(Bar(label, (least, moved - least), f"{moved:,} by tiles of [{tile}]"))
    facts = f"bytes moved by the best tiles for each size of memory on the chip; at least {frontier.floor_bytes:,}"
    return bar_picture(f"tiles of {frontier.tiling.root.name}", facts, bars, ("every element once", "again"))
