"""What a picture of a layout shows: a plane of the array with positions, and memory in order with indices.

Read :func:`scene` first.  The law: a number in the picture is what the maps of the shape say.  Axes that are too long
are shown in part: their ends, and where a tile ends.  How it looks is in ``svg`` and ``text``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from .._core import Layout, Shape, linear_index, logical_index
from ..errors import HlomapError

__all__ = ["Cell", "Grid", "Scene", "example_sizes", "scene"]

_MOST = 16  # cells along an axis that is shown whole
_MOST_PLACES = 192
_MOST_LETTERS = 144  # in a row of memory
_PLANE_ROWS = 32  # rows of all planes together
Points = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """One place: what is written in it, whether it is padding, and the tile of each level it belongs to."""

    text: str
    is_padding: bool
    tiles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of cells; ``rows`` and ``columns`` label them, None is a gap where some are left out."""

    title: str
    rows: tuple[str | None, ...]
    columns: tuple[str | None, ...]
    cells: tuple[tuple[Cell | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that a picture of a layout shows."""

    title: str
    facts: str
    planes: tuple[Grid, ...]
    n_hidden: int
    memory: Grid


def scene(shape: Shape) -> Scene:
    """What to show of an array with this shape."""
    n, n_places = shape.n_elements, shape.buffer_elements
    levels = _Levels(shape)
    planes, n_hidden = _planes(shape, levels) if n else ((), 0)
    return Scene(str(shape), _facts(shape, n, n_places), planes, n_hidden, _memory(shape, levels, n_places))


def example_sizes(layout: Layout) -> list[int]:
    """Sizes of an array that shows a few tiles of this layout, and padding where that can be."""
    order = layout.minor_to_major
    tile = layout.tiles[0] if layout.tiles else ()
    sizes = [2] * len(order)
    for i, d in enumerate(order[:2] if not tile else order[: len(tile)]):
        width = tile[len(tile) - 1 - i] if tile else 4 + 2 * (i == 0)
        sizes[d] = 2 if width is None else width if not tile else 2 * width - (width > 1) + (width == 1)
    for i, size in enumerate(layout.padded_dimensions):
        sizes[i] = min(sizes[i], max(1, size - 1))
    return sizes


class _Levels:
    """Numbers the tiles of each level; without tiles, the runs of the dimension that changes fastest."""

    def __init__(self, shape: Shape) -> None:
        layout = shape.layout or Layout(list(range(shape.rank))[::-1])
        self.tiles = layout.tiles[:2]
        plain = layout.replace(tail_padding_alignment=1, split_configs=())
        self.parts = [
            (shape.with_layout(plain.replace(tiles=layout.tiles[: k + 1])), prod(t for t in tile if t is not None))
            for k, tile in enumerate(self.tiles)
        ]
        if not self.parts and shape.rank:
            minor = layout.minor_to_major[0]
            run = layout.padded_dimensions[minor] if layout.padded_dimensions else shape.dimensions[minor]
            self.parts = [(shape.with_layout(plain), run)]

        # Where no later tile is longer, a tile of the first level is one block of places, its padding included.
        lengths = [len(tile) for tile in layout.tiles]
        self.block = 0
        if lengths and max(lengths) == lengths[0] and self.parts[0][0].buffer_elements:
            n_tiles = self.parts[0][0].buffer_elements // self.parts[0][1]
            self.block = prod(shape.tiled.dimensions) // n_tiles

    def of(self, points: Points, sizes: Sequence[int]) -> list[Points]:
        """The number of the tile of each level that the points of an array of these sizes lie in."""
        found = []
        for shape, places in self.parts:
            there = linear_index(_resized(shape, sizes))
            found.append(there.evaluate(points)[:, 0] // max(1, places))
        return found


def _resized(shape: Shape, sizes: Sequence[int]) -> Shape:
    """The shape of other sizes; larger ones take the place of the padding of dimensions."""
    layout = shape.layout
    if layout is not None and tuple(sizes) != shape.dimensions:
        layout = layout.replace(padded_dimensions=(), split_configs=())
    return Shape(shape.dtype, sizes, layout)


def _facts(shape: Shape, n: int, n_places: int) -> str:
    percent = f"{shape.padding_percent:.3g}" if n else "all"
    facts = f"{n:,} element{'s' * (n != 1)} in {n_places:,} place{'s' * (n_places != 1)}, {shape.buffer_bytes:,} bytes"
    if n_places != n:
        facts += f", {percent} % padding" if n else ", all padding"
    if shape.layout is not None and shape.layout.padded_dimensions:
        facts += f", dimensions padded to {list(shape.layout.padded_dimensions)}"
    n_parts = prod(len(indices) + 1 for _, indices in shape.layout.split_configs) if shape.layout else 1
    return facts + (f"; split into {n_parts} parts, shown as one" if n_parts > 1 else "")


# ------------------------------------------------------------------------------------------------------------- array


def _planes(shape: Shape, levels: _Levels) -> tuple[tuple[Grid, ...], int]:
    """The two dimensions that change fastest as tables, one for each index into the others."""
    order = shape.layout.minor_to_major if shape.layout else tuple(range(shape.rank))[::-1]
    shown = sorted(order[:2])
    others = [d for d in range(shape.rank) if d not in shown]
    extended = _extended(shape)
    there = linear_index(_resized(shape, extended))
    axes = [_axis(extended[d], _cuts(shape, d)) for d in shown]
    while len(axes) < 2:
        axes.insert(0, [0])
    sizes = [shape.dimensions[d] for d in others]
    n_planes = prod(sizes)
    grids = []
    for number in range(min(n_planes, max(1, _PLANE_ROWS // len(axes[0])))):
        fixed = dict(zip(others, map(int, np.unravel_index(number, sizes)) if sizes else (), strict=True))
        points = np.zeros((len(axes[0]) * len(axes[1]), shape.rank), np.int64)
        for d, index in fixed.items():
            points[:, d] = index
        rows, columns = np.meshgrid(*([-1 if i is None else i for i in axis] for axis in axes), indexing="ij")
        for d, values in zip(shown, [rows, columns][2 - len(shown) :], strict=True):
            points[:, d] = values.reshape(-1)
        is_gap = np.logical_or.reduce(points < 0, axis=1, initial=False)
        points[is_gap] = 0
        at = there.evaluate(points)[:, 0] if len(points) else np.zeros(0, np.int64)
        is_padding = np.logical_or.reduce(points >= np.array(shape.dimensions, np.int64), axis=1, initial=False)
        tiles = levels.of(points, extended)
        cells = [
            None if is_gap[i] else Cell(str(at[i]), bool(is_padding[i]), tuple(int(of[i]) for of in tiles))
            for i in range(len(points))
        ]
        width = len(axes[1])
        table = tuple(tuple(cells[r * width : (r + 1) * width]) for r in range(len(axes[0])))
        title = "[" + ",".join(str(fixed.get(d, ":")) for d in range(shape.rank)) + "]" if others else ""
        labels = [tuple(None if i is None else str(i) for i in axis) for axis in axes]
        if len(shown) < 2:
            labels[0] = ("",)
        grids.append(Grid(title, labels[0], labels[1] if shown else ("",), table))
    return tuple(grids), n_planes - len(grids)


def _extended(shape: Shape) -> tuple[int, ...]:
    """The sizes up to the end of the last tile, as far as places of padding have an index of their own."""
    layout = shape.layout
    if layout is None:
        return shape.dimensions
    sizes = list(layout.padded_dimensions or shape.dimensions)
    if layout.tiles and None not in layout.tiles[0]:
        for d, width in zip(layout.minor_to_major, reversed(layout.tiles[0]), strict=False):
            assert width is not None
            sizes[d] = -(-sizes[d] // width) * width
    try:
        fits = _resized(shape, sizes).buffer_elements == shape.buffer_elements
    except HlomapError:
        fits = False
    return tuple(sizes) if fits else shape.dimensions


def _cuts(shape: Shape, dimension: int) -> list[int]:
    """Where tiles of some level end in a dimension."""
    cuts = []
    for tile in shape.layout.tiles if shape.layout else ():
        at = shape.layout.minor_to_major.index(dimension) if shape.layout else 0
        width = tile[len(tile) - 1 - at] if at < len(tile) else None
        cuts.append(width or 0)
    return cuts


def _axis(n: int, cuts: Iterable[int]) -> list[int | None]:
    """The indices of an axis to show; None for a gap between them."""
    if n <= _MOST:
        return list(range(n))
    wanted = {0, 1, 2, n - 2, n - 1}
    for cut in sorted(cut for cut in set(cuts) if 1 < cut < n)[-3:]:
        wanted |= {cut - 1, cut}
    shown: list[int | None] = []
    last = -1
    for i in sorted(i for i in wanted if 0 <= i < n):
        if i == last + 2:
            shown.append(i - 1)
        elif i > last + 1:
            shown.append(None)
        shown.append(i)
        last = i
    return shown


# ------------------------------------------------------------------------------------------------------------ memory


def _memory(shape: Shape, levels: _Levels, n: int) -> Grid:
    """The places of the buffer in rows, each with the index of its element."""
    width = _row_length(shape, n)
    n_rows = -(-n // width)
    rows: list[int | None]
    if n <= _MOST_PLACES:
        rows = list(range(n_rows))
    else:
        tile = levels.parts[0][1] if levels.parts else 0
        rows = _axis(n_rows, [tile // width])
    back, n_tiled = logical_index(shape), prod(shape.tiled.dimensions)
    table: list[tuple[Cell | None, ...]] = []
    for row in rows:
        if row is None:
            table.append((None,) * width)
            continue
        places = np.arange(row * width, min(n, (row + 1) * width)).reshape(-1, 1)
        held = back.in_domain(places) if shape.n_elements else np.zeros(len(places), np.bool_)
        indices = back.evaluate(places) if shape.n_elements else np.zeros((len(places), shape.rank), np.int64)
        tiles = levels.of(np.where(held[:, None], indices, 0), shape.dimensions) if held.any() else []
        cells = []
        for i, index in enumerate(indices):
            if held[i]:
                cells.append(Cell(",".join(map(str, index)) or "()", False, tuple(int(of[i]) for of in tiles)))
            else:
                place = row * width + i
                cells.append(Cell("·", True, (place // levels.block,) if levels.block and place < n_tiled else ()))
        table.append(tuple(cells))
    labels = tuple(None if row is None else str(row * width) for row in rows)
    return Grid("", labels, ("",) * width, tuple(table))


def _row_length(shape: Shape, n: int) -> int:
    """Whole tiles, or whole rows of a tile, where that fits; else sixteen places."""
    layout = shape.layout
    unit = 1
    if layout is not None and layout.tiles:
        for width in reversed([t for t in layout.tiles[0] if t is not None]):
            if unit * width <= _MOST:
                unit *= width
    elif shape.rank:
        minor = layout.minor_to_major[0] if layout else shape.rank - 1
        padded = layout.padded_dimensions if layout else ()
        size = padded[minor] if padded else shape.dimensions[minor]
        unit = size if 0 < size <= _MOST else 1
    letters = sum(len(str(size)) + 1 for size in shape.dimensions)
    most = max(1, min(_MOST, _MOST_LETTERS // max(1, letters)))
    whole = max(1, min(12, most) // unit) * unit if 1 < unit <= most else most
    return max(1, min(whole, n))
