"""Pictures of shardings: the tiles of an array, each with its devices.

The picture is like that of a layout, with tiles in place of elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from .._core import Shape, Sharding
from ..base.answers import Unknown
from ..base.text import one_line
from ..errors import UnsupportedError
from ..shardings.assignment import ALL_DEVICES, Assignment, assign
from ..shardings.device_maps import read_count
from ..shardings.orders import Ints, place_values
from ..shardings.tiles import Tiles
from .arrays import layout_picture
from .layouts import Cell, Grid, Scene, choose_indices
from .picture import Picture

_MAX_PLANES = 8
_MAX_NAMED = 4  # devices of a tile that are listed


def draw_sharding(sharding: Sharding, shape: Shape, n_devices: int | None) -> Picture:
    """The tiles of a sharded array with their devices; many dimensions become planes, and many tiles are drawn in part.

    >>> sharding = hm.hlo.Sharding.parse("{devices=[2,2,2]<=[4,2]T(1,0) last_tile_dim_replicate}")
    >>> print(draw_sharding(sharding, hm.Shape("f32", [10, 6]), None))
    f32[10,6] {devices=[2,2,2]<=[4,2]T(1,0) last_tile_dim_replicate}
    4 tiles of [5,3], 60 bytes, on 2 devices each
    <BLANKLINE>
    array: the devices of each tile
         0:3 │ 3:6
     0:5 0,2 │ 4,6
        ─────┼────
    5:10 1,3 │ 5,7
    """
    found = assign(sharding, shape, read_count(n_devices, "draw"))
    if isinstance(found, Unknown):
        raise UnsupportedError(f"{one_line(str(sharding))} cannot be drawn: {found.reason}")
    return layout_picture(_scene(sharding, found))


def _scene(sharding: Sharding, assignment: Assignment) -> Scene:
    shape, widths = assignment.shape.without_layout(), assignment.tile_sizes
    n_tiles, n_replicas = prod(assignment.tiles), assignment.n_replicas
    n_bytes = -(-prod(widths) * shape.element_bits // 8)
    on = "all devices" if n_replicas == ALL_DEVICES else f"{n_replicas:,} device{'s' * (n_replicas != 1)}"
    size = f"{'' if n_tiles == 1 else f'{n_tiles:,} tiles of '}[{','.join(map(str, widths))}], {n_bytes:,} bytes"
    facts = f"{size}, on {on}{' each' if n_tiles > 1 else ''}"
    if assignment.uncertain is not None:
        facts += f"; {assignment.uncertain}"
    planes, n_hidden = _planes(assignment)
    title = f"{shape} {one_line(str(sharding))}"
    return Scene(title, facts, planes, n_hidden, Grid("", (), (), ()), "array: the devices of each tile")


def _planes(assignment: Assignment) -> tuple[tuple[Grid, ...], int]:
    """The last two dimensions as grids of tiles, for each position of the others."""
    tiles = assignment.tiles
    shown, others = tiles[-2:], tiles[:-2]
    axes = [choose_indices(n, []) for n in shown]
    labels: list[tuple[str | None, ...]] = [
        tuple(None if c is None else _range(assignment, len(others) + k, c) for c in axis)
        for k, axis in enumerate(axes)
    ]
    while len(axes) < 2:
        axes.insert(0, [0])
        labels.insert(0, ("",))
    by_tile: Ints | None = None
    if assignment.n_replicas != ALL_DEVICES:
        found = Tiles.of(assignment)
        by_tile = found.devices[np.argsort(found.numbers, kind="stable")].reshape(-1, assignment.n_replicas)
    places = place_values((*([1] * (2 - len(shown))), *shown))
    grids = []
    n_planes = prod(others)
    for number in range(min(n_planes, _MAX_PLANES)):
        first = number * prod(shown)
        cells = tuple(tuple(_cell(by_tile, first, places, r, c) for c in axes[1]) for r in axes[0])
        grids.append(Grid(_title(assignment, others, number), labels[0], labels[1], cells))
    return tuple(grids), n_planes - len(grids)


def _cell(by_tile: Ints | None, first: int, places: Sequence[int], row: int | None, column: int | None) -> Cell | None:
    if row is None or column is None:
        return None
    tile = first + row * places[0] + column * places[1]
    if by_tile is None:
        return Cell("all", False, (tile,))
    named = ",".join(map(str, by_tile[tile][:_MAX_NAMED].tolist()))
    return Cell(named + ",…" * (by_tile.shape[1] > _MAX_NAMED), False, (tile,))


def _range(assignment: Assignment, dimension: int, position: int) -> str:
    """The indices of a tile as a slice."""
    size, s = assignment.shape.dimensions[dimension], assignment.tile_sizes[dimension]
    return f"{min(position * s, size)}:{min((position + 1) * s, size)}"


def _title(assignment: Assignment, others: Sequence[int], number: int) -> str:
    if not others:
        return ""
    at = np.unravel_index(number, tuple(others))
    ranges = [_range(assignment, k, int(c)) for k, c in enumerate(at)]
    return "[" + ",".join([*ranges, ":", ":"]) + "]"
