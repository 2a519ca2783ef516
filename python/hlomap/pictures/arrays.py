"""Pictures of arrays in memory: renders the contents that ``layouts.py`` chooses as SVG and as text.

The left side shows the array with the position of each element, the right side memory with the index at each position.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise

from .._core import Layout, Shape
from .layouts import Cell, Grid, Scene, build_scene, example_sizes
from .picture import Picture
from .style import CHARACTER, TILE_COLOURS, document, edges, text


def layout_picture(scene: Scene) -> Picture:
    """The picture of an array as cells with texts, and of its memory."""
    return Picture(scene.title, lambda: render_svg(scene), lambda: render_text(scene))


def draw_shape(shape: Shape) -> Picture:
    """The picture of an array; raises the errors of :func:`hlomap.layouts.linear_index`."""
    return layout_picture(build_scene(shape))


def draw_layout(layout: Layout, dimensions: Sequence[int] | None = None) -> Picture:
    """The picture of an array of bytes with this layout; without ``dimensions`` its sizes are chosen as an example."""
    return draw_shape(Shape("u8", example_sizes(layout) if dimensions is None else dimensions, layout))


# Rendering as SVG: cells with texts, a colour for each tile, lines between tiles, hatched padding.


_ROW = 24  # height of a row of cells
_HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
    '<rect width="6" height="6" class="paper"/><path d="M0,6L6,0" class="line"/></pattern></defs>'
)
_GAP = 16  # width or height of a gap for left-out cells
_EDGE = 16
_OUTSIDE = Cell("", True, ())  # around a grid


def render_svg(scene: Scene) -> str:
    """The picture as SVG text."""
    colours = _colours(scene)
    parts: list[str] = []
    top = _EDGE + 62.0
    height, right = top, float(_EDGE)
    for grid in scene.planes:
        box = _Table(grid, _EDGE, height, colours, is_plane=True)
        parts.append(box.svg())
        height, right = box.bottom + 18, max(right, box.right)
    if scene.n_hidden:
        parts.append(text(_EDGE, height, f"… and {scene.n_hidden:,} more like these", "note"))
        height, right = height + 18, max(right, _EDGE + 260)
    captions = [text(_EDGE, top - 10, scene.caption, "note")] if scene.planes else []
    at = max(right, _EDGE + 36 * CHARACTER) + 40 if scene.planes else float(_EDGE)
    if scene.memory.cells:
        box = _Table(scene.memory, at, top, colours, is_plane=False)
        parts.append(box.svg())
        captions.append(text(at, top - 10, "memory: the index of the element at each position", "note"))
        height, right = max(height, box.bottom + 18), max(box.right, at + 47 * CHARACTER)
    width = max(right, _EDGE + max(len(scene.title) * 8.6, len(scene.facts) * CHARACTER)) + _EDGE
    head = [text(_EDGE, _EDGE + 12, scene.title, "title"), text(_EDGE, _EDGE + 31, scene.facts, "note")]
    return document(width, height, scene.title, f"{scene.facts}. {scene.caption}", [_HATCH, *head, *captions, *parts])


def _colours(scene: Scene) -> dict[int, int]:
    """A colour for each tile of the first level, in order of appearance."""
    rows = [row for grid in (*scene.planes, scene.memory) for row in grid.cells]
    tiles = dict.fromkeys(cell.tiles[0] for row in rows for cell in row if cell is not None and cell.tiles)
    return {tile: i % len(TILE_COLOURS) for i, tile in enumerate(tiles)}


class _Table:
    """A grid with its coordinates in the picture."""

    def __init__(self, grid: Grid, x: float, y: float, colours: dict[int, int], *, is_plane: bool) -> None:
        self.grid, self.colours, self.is_plane = grid, colours, is_plane
        lengths = [len(cell.text) for row in grid.cells for cell in row if cell is not None]
        lengths += [len(label) for label in grid.columns if label]
        cell_width = max(26.0, max(lengths, default=1) * CHARACTER + 9)
        margin = max((len(label) for label in grid.rows if label), default=0) * 6.7 + 8
        self.title_height = 20 if grid.title else 0
        self.x, self.y = x, y
        label_height = 16 if any(grid.columns) else 0
        self.columns = edges(grid.columns, cell_width, _GAP, x + margin)
        self.rows = edges(grid.rows, _ROW, _GAP, y + self.title_height + label_height)
        self.right, self.bottom = self.columns[-1], self.rows[-1]

    def svg(self) -> str:
        grid, out = self.grid, []
        if grid.title:
            out.append(text(self.x, self.y + 11, grid.title, "note"))
        for c, label in enumerate(grid.columns):
            x = (self.columns[c] + self.columns[c + 1]) / 2
            if label != "":
                out.append(text(x, self.rows[0] - 4, "…" if label is None else label, "label middle"))
        for r, label in enumerate(grid.rows):
            y = (self.rows[r] + self.rows[r + 1]) / 2 + 4
            out.append(text(self.columns[0] - 5, y, "…" if label is None else label, "label right"))
            out += [self._cell(r, c, cell) for c, cell in enumerate(grid.cells[r]) if cell is not None]
        return "\n".join(out + self._lines())

    def _cell(self, r: int, c: int, cell: Cell) -> str:
        x, y = self.columns[c], self.rows[r]
        width, height = self.columns[c + 1] - x, self.rows[r + 1] - y
        colour = self.colours.get(cell.tiles[0] if cell.tiles else 0, 0)
        fill = 'fill="url(#hatch)" class="rim"' if cell.is_padding else f'class="rim t{colour}"'
        kind = "pad" if cell.is_padding else "cell"
        return (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" {fill}/>'
            f'<text x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}" class="{kind}">{escape(cell.text)}</text>'
        )

    def _lines(self) -> list[str]:
        """A thick line around each tile of the first level, a thin one around each of the second."""
        n = len(self.grid.columns)
        rows = [[_OUTSIDE, *row, *[_OUTSIDE] * (n + 1 - len(row))] for row in ((), *self.grid.cells, ())]
        sides: tuple[list[str], list[str]] = [], []
        for r, (above, row) in enumerate(pairwise(rows)):
            for c in range(n + 1):
                start = f"M{self.columns[c]:.1f},{self.rows[r]:.1f}"
                if (level := self._level_between(row[c], row[c + 1])) is not None:
                    sides[level].append(f"{start}V{self.rows[r + 1]:.1f}")
                if (level := self._level_between(above[c + 1], row[c + 1])) is not None:
                    sides[level].append(f"{start}H{self.columns[c + 1]:.1f}")
        shown = zip(("gap", "edge"), reversed(sides), strict=True)
        return [f'<path d="{"".join(paths)}" class="{kind}"/>' for kind, paths in shown if paths]

    def _level_between(self, one: Cell | None, other: Cell | None) -> int | None:
        """The level of the line between two cells; None for no line."""
        if one is None or other is None or one is other:
            return None
        if one is _OUTSIDE or other is _OUTSIDE:
            return 0
        if not self.is_plane and not (one.tiles and other.tiles):
            return None
        pairs = zip(one.tiles, other.tiles, strict=False)
        return next((level for level, (a, b) in enumerate(pairs) if a != b), None)


# Rendering as text: numbers in columns, lines between tiles.


def render_text(scene: Scene) -> str:
    """The picture as text, without a final line break."""
    lines = [scene.title, scene.facts]
    for number, grid in enumerate(scene.planes):
        lines.append("")
        if number == 0:
            has_padding = any(cell is not None and cell.is_padding for row in grid.cells for cell in row)
            lines.append(scene.caption + ", · is padding" * has_padding)
        if grid.title:
            lines.append(f"   {grid.title}")
        lines += _plane(grid)
    if scene.n_hidden:
        lines += ["", f"   … and {scene.n_hidden:,} more like these"]
    if scene.memory.cells:
        lines += ["", "memory: the index of the element at each position"]
        lines += _memory(scene.memory)
    return "\n".join(line.rstrip() for line in lines)


def _plane(grid: Grid) -> list[str]:
    texts = [["…" if c is None else "·" if c.is_padding else c.text for c in row] for row in grid.cells]
    width = max((len(t) for row in texts for t in row), default=1)
    width = max([width, *(len(label or "…") for label in grid.columns)])
    margin = max(4, *(len(label or "⋮") for label in grid.rows)) if grid.rows else 4
    columns = range(len(grid.columns))
    has_line = [c + 1 < len(grid.columns) and _all_differ((row[c], row[c + 1]) for row in grid.cells) for c in columns]

    def line(label: str, texts: list[str]) -> str:
        cells = (f" {t:>{width}}" + " │" * has_line[c] for c, t in enumerate(texts))
        return f"{label:>{margin}}" + "".join(cells)

    lines = []
    if any(grid.columns):
        lines.append(line("", [label if label is not None else "…" for label in grid.columns]))
    for r, label in enumerate(grid.rows):
        lines.append(line("⋮" if label is None else label, texts[r]))
        if r + 1 < len(grid.rows) and _all_differ(zip(grid.cells[r], grid.cells[r + 1], strict=True)):
            rule = "".join("─" * (width + 1) + "─┼" * has_line[c] for c in columns)
            lines.append(" " * margin + rule)
    return lines


def _all_differ(pairs: Iterable[tuple[Cell | None, Cell | None]]) -> bool:
    """Whether all pairs are in different tiles; tiles of combined dimensions end at different columns in each row."""
    tiles = [(a.tiles[:1], b.tiles[:1]) for a, b in pairs if a is not None and b is not None]
    return bool(tiles) and all(a != b for a, b in tiles)


def _memory(grid: Grid) -> list[str]:
    width = max((len(cell.text) for row in grid.cells for cell in row if cell is not None), default=1)
    margin = max(4, *(len(label or "") for label in grid.rows))
    lines = []
    for label, row in zip(grid.rows, grid.cells, strict=True):
        if label is None:
            lines.append(f"{'⋮':>{margin}}")
            continue
        line = f"{label:>{margin}}:"
        tile: int | None = None
        for cell in row:
            if cell is not None and cell.tiles:
                if tile is not None and cell.tiles[0] != tile:
                    line += " │"
                tile = cell.tiles[0]
            line += " " + (cell.text if cell is not None else "").center(width)
        lines.append(line)
    return lines
