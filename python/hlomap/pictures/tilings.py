"""Pictures of tilings: one tile of the output with its reads from each operand; and of a frontier, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from ..base.text import cut, leaf_text, plural, printable
from ..errors import ShapeError
from ..ops._shapes import shape_at
from ..tiles.frontier import TileFrontier
from ..tiles.tiling import TileRead, Tiling
from .bars import Bar, bar_picture
from .maps import array_of, map_picture
from .picture import Picture
from .scenes import Array, Bounds, Operand, build_map_scene

_MAX_CANDIDATES = 4096


def draw_tiling(tiling: Tiling, sizes: Sequence[int] | None, element: Sequence[int] | None) -> Picture:
    """The picture of the tile that contains the element with these indices in the parameters, for these sizes."""
    params = tiling.params
    chosen = choose_candidate(tiling) if sizes is None else [int(n) for n in sizes]
    at = [0] * len(params) if element is None else [int(i) for i in element]
    for name, values in (("tile", chosen), ("element", at)):
        if len(values) != len(params):
            raise ShapeError(f"{name} {values}: expected {plural(len(params), 'number')}, one for each parameter")
    if any(n < 1 for n in chosen):
        raise ShapeError(f"tile {chosen}: expected sizes of at least 1")
    if any(not 0 <= i < max(1, p.size) for i, p in zip(at, params, strict=True)):
        raise ShapeError(f"element {at}: expected numbers from 0 below {[p.size for p in params]}")
    starts = [i // n * n for i, n in zip(at, chosen, strict=True)]
    box = [(start, min(start + n, p.size) - 1) for start, n, p in zip(starts, chosen, params, strict=True)]
    n_tiles = prod(-(-p.size // n) for n, p in zip(chosen, params, strict=True))
    written = next((w for w in tiling.writes if w.shape_index == tiling._question[1]), tiling.writes[0])
    shape = shape_at(written.instruction.shape, written.shape_index)
    lit: Bounds = [b for b, p in zip(box, params, strict=True) if p.kind == "parallel"]
    names = ", ".join(f"{p.name} {b[0]}:{b[1] + 1}" for b, p in zip(box, params, strict=True))
    slices = ", ".join(f"{a}:{b + 1}" for a, b in lit)
    label = printable(written.instruction.name, 60) + leaf_text(written.shape_index)
    output = array_of(label, shape, f"{shape.without_layout()}, tile [{slices}] is lit")
    operands = [_operand(read) for read in tiling.reads]
    title = f"tiles {chosen} of {printable(tiling.root.name, 60)}"
    facts = f"one of {plural(n_tiles, 'tile')}: {names}"
    boxes: list[Bounds | None] = [box] * len(operands)
    return map_picture(build_map_scene(cut(title, 120), [cut(facts, 120)], output, operands, lit, boxes))


def choose_candidate(tiling: Tiling) -> list[int]:
    """A legal candidate that moves few bytes, with at least two tiles if possible; the whole if none is legal."""
    whole = [max(1, p.size) for p in tiling.params]
    if not whole:
        return []
    candidates = tiling.candidates("pow2", _MAX_CANDIDATES)
    few = (candidates <= np.maximum(1, np.array(whole) // 2)).all(axis=1)
    candidates = candidates[few] if few.any() else candidates
    table = tiling.evaluate(candidates, columns=["legal", "read_bytes"])
    legal = np.flatnonzero(table["legal"])
    if not len(legal):
        return whole
    moved = table["read_bytes"].sum(axis=1)[legal]
    narrowest = candidates[legal].min(axis=1)
    return [int(n) for n in candidates[legal[np.lexsort((-narrowest, moved))[0]]]]


def _operand(read: TileRead) -> Operand:
    shape = shape_at(read.instruction.shape, read.shape_index)
    facts = str(shape.without_layout())
    if read.map is None:
        facts += f", unknown: {printable(read.unknown, 150)}"
    array: Array = array_of(printable(read.instruction.name, 60) + leaf_text(read.shape_index), shape, facts)
    # The maps start at all parameters, so their points do not count reads.
    return Operand(array, None if read.map is None else (read.map,), read.is_exact_map, is_counted=False)


_MOST = 20
"""The greatest multiple of the least value that is drawn: a longer bar would make all others too short to see."""


def draw_frontier(frontier: TileFrontier) -> Picture:
    """A bar for each size of memory: the bytes that every tiling moves, and those that this size adds."""
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
