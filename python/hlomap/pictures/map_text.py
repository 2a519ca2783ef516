"""Renders a picture of maps with Unicode blocks, two characters for each cell.

The kind of block alone carries the meaning; a terminal may colour blocks as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..base.text import printable
from .scenes import LIT, MARKED, MAY, ArrayGrid, MapScene, Page
from .style import magnitude, wrap

BLOCKS = {"lit": "██", "may": "▒▒", "marked": "><", "read": "░░", "none": "··", "unknown": "┄┄"}
"""The blocks of cells that are highlighted, may be read, are crossed, are read by others, unread, and not counted."""

_WIDTH = 100
_FACTS = 48


def render_map_text(scene: MapScene) -> str:
    """The picture as text, without a final line break."""
    lines = [printable(scene.title, 400), *(printable(line, 400) for line in scene.facts), ""]
    blocks = [_block(grid, is_output=number == 0) for number, grid in enumerate((scene.output, *scene.operands))]
    row: list[list[str]] = []
    for block in blocks:
        width = sum(_width(other) + 4 for other in row)
        if row and width + _width(block) > _WIDTH:
            lines += [*_side_by_side(row), ""]
            row = []
        row.append(block)
    lines += _side_by_side(row)
    if scene.n_hidden:
        lines += ["", f"… and {scene.n_hidden:,} more operands"]
    legend = [f"{BLOCKS[kind]} {words}" for kind, words in scene.legend if kind in BLOCKS and kind != "none"]
    if legend:
        lines += ["", "  ".join(legend)]
    return "\n".join(line.rstrip() for line in lines)


def _width(block: Sequence[str]) -> int:
    return max(map(len, block), default=0)


def _side_by_side(blocks: Sequence[Sequence[str]]) -> list[str]:
    height = max((len(block) for block in blocks), default=0)
    return [
        "    ".join((block[k] if k < len(block) else "").ljust(_width(block)) for block in blocks)
        for k in range(height)
    ]


def _block(grid: ArrayGrid, *, is_output: bool) -> list[str]:
    lines = [printable(grid.array.label, _FACTS), *wrap(printable(grid.array.facts, 400), _FACTS, 3)]
    if grid.is_empty:
        return [*lines, "no elements"]
    drawn = [line for page in grid.pages for line in _page(grid, page, is_output=is_output)]
    if grid.whole and len(drawn) > 1:
        return [*lines, f"{BLOCKS['lit' if grid.whole == LIT else 'may']} every element"]
    hidden = f"… and {magnitude(grid.n_hidden)} more planes" if grid.n_hidden else ""
    return [*lines, *drawn, *([hidden] if hidden else [])]


def _page(grid: ArrayGrid, page: Page, *, is_output: bool) -> Iterator[str]:
    if page.title:
        is_complete = None not in (*grid.rows, *grid.columns)
        kinds = {_cell(page, r, c, is_output) for r in range(len(grid.rows)) for c in range(len(grid.columns))}
        if is_complete and len(kinds) == 1:
            yield f"{page.title} {kinds.pop()} every element"
            return
        yield page.title
    labels = ["⋮" if i is None else str(i) for i in grid.rows] if grid.dims[0] is not None else [""]
    margin = max(map(len, labels))
    for r, label in enumerate(labels):
        if grid.rows[r] is None:
            yield f"{label:>{margin}} "
            continue
        cells = ("┆ " if index is None else _cell(page, r, c, is_output) for c, index in enumerate(grid.columns))
        yield f"{label:>{margin}} " * bool(margin) + "".join(cells)
    if grid.dims[1] is not None:
        yield " " * (margin + bool(margin)) + _ruler(grid.columns)


def _cell(page: Page, r: int, c: int, is_output: bool) -> str:
    if page.lit[r, c] == LIT:
        return BLOCKS["lit"]
    if page.lit[r, c] == MARKED:
        return BLOCKS["marked"]
    if page.lit[r, c] == MAY:
        return BLOCKS["may"]
    if is_output:
        return BLOCKS["none"]
    return BLOCKS["read" if page.counts[r, c] > 0 else "unknown" if page.counts[r, c] < 0 else "none"]


def _ruler(columns: Sequence[int | None]) -> str:
    """The indices of the ends, then those around cuts, if they fit."""
    last = len(columns) - 1
    cuts = [place for c, index in enumerate(columns) if index is None for place in (c - 1, c + 1)]
    line = [" "] * (2 * len(columns) + 24)
    for c in dict.fromkeys([0, last, *cuts]):
        label = str(columns[c]) if 0 <= c <= last and columns[c] is not None else ""
        place = slice(max(0, 2 * c - 1), 2 * c + len(label) + 1)
        if label and not "".join(line[place]).strip():
            line[2 * c : 2 * c + len(label)] = label
    return "".join(line).rstrip()
