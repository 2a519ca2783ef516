"""The contents of a picture of a layout: planes of the array with positions, and memory in order with indices.

The maps of the shape give every number in the picture.  Long axes are shown in part: their ends, and the ends of tiles.
Rendering is in ``arrays.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from .._core import Layout, Shape, linear_index, logical_index
from ..errors import HlomapError

_MAX_CELLS = 16  # cells of an axis that is shown completely
_MAX_POSITIONS = 192
_MAX_CHARACTERS = 144  # of a row of memory
_PLANE_ROWS = 32  # rows of all planes in total
Points = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a grid: its text, whether it is padding, and the number of its tile at each level."""

    text: str
    is_padding: bool
    tiles: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of cells with labels for rows and columns; None marks a gap where cells are left out."""

    title: str
    rows: tuple[str | None, ...]
    columns: tuple[str | None, ...]
    cells: tuple[tuple[Cell | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """The contents of a picture."""

    title: str
    facts: str
    planes: tuple[Grid, ...]
    n_hidden: int
    memory: Grid
    caption: str = "array: the position of each element"


def build_scene(shape: Shape) -> Scene:
    """The contents of the picture of an array."""
    n, n_positions = shape.n_elements, shape.buffer_elements
    levels = _Levels(shape)
    planes, n_hidden = _planes(shape, levels) if n else ((), 0)
    memory = _memory(shape, levels, n_positions)
    return Scene(str(shape), _facts(shape, n, n_positions), planes, n_hidden, memory)


def example_sizes(layout: Layout) -> list[int]:
    """Sizes of an array that has a few tiles of this layout, and padding if possible."""
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
    """Numbers the tiles of each level; without tiles, the rows of the minor dimension."""

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

        # Unless a later tile has a higher rank, a tile of the first level is one block of memory with its padding.
        lengths = [len(tile) for tile in layout.tiles]
        self.block = 0
        if lengths and max(lengths) == lengths[0] and self.parts[0][0].buffer_elements:
            n_tiles = self.parts[0][0].buffer_elements // self.parts[0][1]
            self.block = prod(shape.tiled.dimensions) // n_tiles

    def tile_numbers(self, points: Points, sizes: Sequence[int]) -> list[Points]:
        """For each level, the numbers of the tiles that contain the points of an array of these sizes."""
        numbers = []
        for shape, tile_size in self.parts:
            positions = linear_index(_resize(shape, sizes)).evaluate(points, check=False)[:, 0]
            numbers.append(positions // max(1, tile_size))
        return numbers


def _resize(shape: Shape, sizes: Sequence[int]) -> Shape:
    """The shape with other sizes, which replace its padded dimensions."""
    layout = shape.layout
    if layout is not None and tuple(sizes) != shape.dimensions:
        layout = layout.replace(padded_dimensions=(), split_configs=())
    return Shape(shape.dtype, sizes, layout)


def _facts(shape: Shape, n: int, n_positions: int) -> str:
    percent = f"{shape.padding_percent:.3g}" if n else "all"
    elements, positions = f"{n:,} element{'s' * (n != 1)}", f"{n_positions:,} position{'s' * (n_positions != 1)}"
    facts = f"{elements} in {positions}, {shape.buffer_bytes:,} bytes"
    if n_positions != n:
        facts += f", {percent} % padding" if n else ", all padding"
    if shape.layout is not None and shape.layout.padded_dimensions:
        facts += f", dimensions padded to {list(shape.layout.padded_dimensions)}"
    n_parts = prod(len(indices) + 1 for _, indices in shape.layout.split_configs) if shape.layout else 1
    return facts + (f"; split into {n_parts} parts, shown as one" if n_parts > 1 else "")


def _planes(shape: Shape, levels: _Levels) -> tuple[tuple[Grid, ...], int]:
    """The two most minor dimensions as grids, one for each index into the other dimensions."""
    order = shape.layout.minor_to_major if shape.layout else tuple(range(shape.rank))[::-1]
    shown = sorted(order[:2])
    others = [d for d in range(shape.rank) if d not in shown]
    extended = _extend_to_tiles(shape)
    positions = linear_index(_resize(shape, extended))
    axes = [choose_indices(extended[d], _tile_widths(shape, d)) for d in shown]
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
        at = positions.evaluate(points)[:, 0] if len(points) else np.zeros(0, np.int64)
        is_padding = np.logical_or.reduce(points >= np.array(shape.dimensions, np.int64), axis=1, initial=False)
        tiles = levels.tile_numbers(points, extended)
        cells = [
            None if is_gap[i] else Cell(str(at[i]), bool(is_padding[i]), tuple(int(level[i]) for level in tiles))
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


def _extend_to_tiles(shape: Shape) -> tuple[int, ...]:
    """The sizes up to the end of the last tile, if distinct padding positions then have distinct indices."""
    layout = shape.layout
    if layout is None:
        return shape.dimensions
    sizes = list(layout.padded_dimensions or shape.dimensions)
    if layout.tiles and None not in layout.tiles[0]:
        for d, width in zip(layout.minor_to_major, reversed(layout.tiles[0]), strict=False):
            assert width is not None
            sizes[d] = -(-sizes[d] // width) * width
    try:
        fits = _resize(shape, sizes).buffer_elements == shape.buffer_elements
    except HlomapError:
        fits = False
    return tuple(sizes) if fits else shape.dimensions


def _tile_widths(shape: Shape, dimension: int) -> list[int]:
    """The widths of the tiles of each level in a dimension; 0 if a tile does not reach it."""
    if shape.layout is None:
        return []
    at = shape.layout.minor_to_major.index(dimension) + 1
    return [(tile[-at] or 0) if at <= len(tile) else 0 for tile in shape.layout.tiles]


def choose_indices(n: int, widths: Iterable[int]) -> list[int | None]:
    """The indices of an axis to show; None for a gap between them."""
    if n <= _MAX_CELLS:
        return list(range(n))
    wanted = {0, 1, 2, n - 2, n - 1}
    for width in sorted(width for width in set(widths) if 1 < width < n)[-3:]:
        wanted |= {width - 1, width}
    return with_gaps(i for i in wanted if 0 <= i < n)


def with_gaps(indices: Iterable[int]) -> list[int | None]:
    """The indices in order, with None for each gap; a gap of one index is filled instead."""
    shown: list[int | None] = []
    last: int | None = None
    for i in sorted(indices):
        if last is not None and i > last + 1:
            shown.append(i - 1 if i == last + 2 else None)
        shown.append(i)
        last = i
    return shown


def _memory(shape: Shape, levels: _Levels, n: int) -> Grid:
    """The positions of the buffer in rows, each with the index of its element."""
    width = _row_length(shape, n)
    n_rows = -(-n // width)
    rows: list[int | None]
    if n <= _MAX_POSITIONS:
        rows = list(range(n_rows))
    else:
        tile = levels.parts[0][1] if levels.parts else 0
        rows = choose_indices(n_rows, [tile // width])
    back, n_tiled = logical_index(shape), prod(shape.tiled.dimensions)
    table: list[tuple[Cell | None, ...]] = []
    for row in rows:
        if row is None:
            table.append((None,) * width)
            continue
        positions = np.arange(row * width, min(n, (row + 1) * width)).reshape(-1, 1)
        is_element = back.in_domain(positions) if shape.n_elements else np.zeros(len(positions), np.bool_)
        indices = (
            back.evaluate(positions, check=False)
            if shape.n_elements
            else np.zeros((len(positions), shape.rank), np.int64)
        )
        points = np.where(is_element[:, None], indices, 0)
        tiles = levels.tile_numbers(points, shape.dimensions) if is_element.any() else []
        cells = []
        for i, index in enumerate(indices):
            if is_element[i]:
                cells.append(Cell(",".join(map(str, index)) or "()", False, tuple(int(level[i]) for level in tiles)))
            else:
                position = row * width + i
                in_tile = levels.block and position < n_tiled
                cells.append(Cell("·", True, (position // levels.block,) if in_tile else ()))
        table.append(tuple(cells))
    labels = tuple(None if row is None else str(row * width) for row in rows)
    return Grid("", labels, ("",) * width, tuple(table))


def _row_length(shape: Shape, n: int) -> int:
    """The length of a row of memory: whole tiles or whole rows of a tile if they fit, else up to 16 positions."""
    layout = shape.layout
    unit = 1
    if layout is not None and layout.tiles:
        for width in reversed([t for t in layout.tiles[0] if t is not None]):
            if unit * width <= _MAX_CELLS:
                unit *= width
    elif shape.rank:
        minor = layout.minor_to_major[0] if layout else shape.rank - 1
        padded = layout.padded_dimensions if layout else ()
        size = padded[minor] if padded else shape.dimensions[minor]
        unit = size if 0 < size <= _MAX_CELLS else 1
    n_characters = sum(len(str(size)) + 1 for size in shape.dimensions)
    limit = max(1, min(_MAX_CELLS, _MAX_CHARACTERS // max(1, n_characters)))
    length = max(1, min(12, limit) // unit) * unit if 1 < unit <= limit else limit
    return max(1, min(length, n))
