"""Renders a picture of a layout as text: numbers in columns, lines between tiles."""

from __future__ import annotations

from collections.abc import Iterable

from .layouts import Cell, Grid, Scene


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
    """Whether all pairs are in different tiles; tiles of combined dimensions end at other columns in each row."""
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
