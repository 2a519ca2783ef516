"""Renders a picture of maps as SVG: the output on the left, operands on the right.

Cells of a picture have one size, so that arrays keep their proportions.  A zigzag marks a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..base.text import cut, html
from .scenes import LIT, MARKED, MAY, ArrayGrid, MapScene, Page, Relation
from .style import CHARACTER, document, edges, magnitude, text, wrap

_EDGE = 16.0
_GAP = 12.0  # width or height of a cut
_BETWEEN = 22.0  # between blocks
_ARROW = 54.0
_LABEL = 6.7  # width of a character of a label
_MAX_WIDTH = 420.0  # of the planes of one array, before they wrap
_MAX_HEIGHT = 620.0  # of a column of operands
_FACTS = 64  # characters of a line of facts of an array


def render_map_svg(scene: MapScene) -> str:
    """The picture as SVG text."""
    arrays = [scene.output, *scene.operands]
    longest = max((max(len(a.rows), len(a.columns)) for a in arrays), default=1)
    cell = 22.0 if longest <= 8 else 16.0 if longest <= 16 else 12.0
    width_of_title = max(len(scene.title) * 8.6, *(len(line) * CHARACTER for line in scene.facts), 0.0)
    top = _EDGE + 14
    parts = [text(_EDGE, top, scene.title, "title")]
    for line in scene.facts:
        top += 18
        parts.append(text(_EDGE, top, line, "note"))
    top += 18
    output = _Block(scene.output, _EDGE, top, cell, scene.levels)
    parts += output.svg()
    left = output.right + _ARROW
    right, bottom, y = left, output.bottom, top
    for number, operand in enumerate(scene.operands):
        block = _Block(operand, left, y, cell, scene.levels)
        if number and block.bottom - top > _MAX_HEIGHT:
            left, y = right + _BETWEEN, top
            block = _Block(operand, left, y, cell, scene.levels)
        parts += block.svg()
        right, bottom, y = max(right, block.right), max(bottom, block.bottom), block.bottom + _BETWEEN
    if scene.n_hidden:
        bottom += _BETWEEN
        parts.append(text(output.right + _ARROW, bottom, f"… and {scene.n_hidden:,} more operands", "note"))
    if scene.operands:
        parts.append(_arrow(output.right + 10, output.middle, _ARROW - 22, scene.relation))
    legend, width = _legend(scene, _EDGE, bottom + _BETWEEN + 4)
    if legend:
        parts += legend
        bottom += _BETWEEN + 18
    right = max(right, output.right, _EDGE + width_of_title, width)
    each = "; ".join(f"{a.array.label}: {a.array.facts}" for a in arrays)
    description = ". ".join(part for part in (" ".join(scene.facts), each) if part)
    return document(right + _EDGE, bottom + _EDGE, scene.title, description, parts)


def _arrow(x: float, y: float, length: float, relation: Relation) -> str:
    """An arrow from the operands to the output, as elements flow; for maps alone from the first array to the second."""
    start, end, head = (x + length, x, 7) if relation == "read" else (x, x + length, -7)
    return f'<path d="M{start:.1f},{y:.1f}H{end:.1f}m{head},-5l{-head},5l{head},5" class="edge thin"/>'


class _Block:
    """One array with its name, facts and planes, at its coordinates."""

    def __init__(self, grid: ArrayGrid, x: float, y: float, cell: float, levels: dict[float, int]) -> None:
        self.grid, self.x, self.y, self.cell, self.levels = grid, x, y, cell, levels
        self.facts = wrap(grid.array.facts, _FACTS, 3)
        self.head = 16.0 * (1 + len(self.facts)) + 2
        row_labels = [str(i) for i in grid.rows if i is not None] if grid.dims[0] is not None else []
        self.margin = max((len(label) for label in row_labels), default=0) * _LABEL + (6 if row_labels else 0)
        self.x_of, self.y_of = (edges(axis, cell, _GAP) for axis in (grid.columns, grid.rows))
        self.page_head = (15.0 if any(page.title for page in grid.pages) else 0.0) + (
            14.0 if grid.dims[1] is not None and not grid.is_empty else 2.0
        )
        title = max((len(page.title) for page in grid.pages), default=0) * _LABEL
        page_width = max(self.margin + self.x_of[-1], title)
        page_height = self.page_head + self.y_of[-1]
        n = max(1, len(grid.pages))
        per_row = max(1, int((_MAX_WIDTH + 18) // (page_width + 18)), int(n * (page_height + 12) // _MAX_HEIGHT))
        self.places = [
            (x + (k % per_row) * (page_width + 18), y + self.head + (k // per_row) * (page_height + 12))
            for k in range(n)
        ]
        n_rows = -(-n // per_row)
        planes = min(n, per_row) * (page_width + 18) - 18
        name = len(cut(grid.array.label, _FACTS)) * CHARACTER
        self.right = x + max(planes, name, *(len(line) * CHARACTER for line in self.facts), 0.0)
        self.bottom = y + self.head + n_rows * (page_height + 12) - 12 + (18 if grid.n_hidden and grid.pages else 0)
        if grid.is_empty:
            self.bottom = y + self.head + cell + 10
        self.middle = y + self.head + self.page_head + self.y_of[-1] / 2

    def svg(self) -> Iterator[str]:
        grid = self.grid
        yield f"<g><title>{html(grid.array.label, 400)}</title>"
        yield text(self.x, self.y + 12, cut(grid.array.label, _FACTS), "name")
        for k, line in enumerate(self.facts, 1):
            yield text(self.x, self.y + 12 + 16 * k, line, "note")
        if grid.is_empty:
            x, y = self.places[0]
            side = self.cell * 2
            path = f"M{x:.1f},{y + 8:.1f}h{side:.1f}v{self.cell:.1f}h{-side:.1f}z"
            yield f'<path d="{path}" class="line" stroke-dasharray="3"/>'
        for page, (x, y) in zip(grid.pages, self.places, strict=False):
            yield from self._page(page, x, y)
        if grid.n_hidden and grid.pages:
            yield text(self.x, self.bottom - 2, f"… and {magnitude(grid.n_hidden)} more planes", "note")
        yield "</g>"

    def _page(self, page: Page, x: float, y: float) -> Iterator[str]:
        if page.title:
            yield text(x, y + 10, page.title, "label")
        left, top = x + self.margin, y + self.page_head
        xs, ys = [left + edge for edge in self.x_of], [top + edge for edge in self.y_of]
        yield from self._labels(page, xs, ys)
        level = np.zeros(page.counts.shape, np.int64)
        for count, n in self.levels.items():
            level[page.counts == count] = n
        fills = [(f"g{n}", (level == n) & (page.lit != LIT)) for n in range(1, 6)] + [("lit", page.lit == LIT)]
        at_x, at_y, half = [_n(x) for x in xs], [_n(y) for y in ys], self.cell / 2
        for kind, mask in fills:
            runs = (f"M{at_x[a]},{at_y[r]}H{at_x[b]}V{at_y[r + 1]}H{at_x[a]}z" for r, a, b in _runs(mask))
            yield from _path(runs, kind)
        yield from _path(self._lines(at_x, at_y), "line")
        dots = np.argwhere((page.counts < 0) & (page.lit == 0))
        yield from _path((f"M{_n(xs[c] + half)},{_n(ys[r] + half)}h.01" for r, c in dots), "dot")
        hatched = np.argwhere(page.lit == MAY)
        yield from _path((f"M{at_x[c]},{at_y[r + 1]}L{at_x[c + 1]},{at_y[r]}" for r, c in hatched), "may")
        yield from _path(self._outline(page.lit == LIT, at_x, at_y), "edge")
        for r, c in np.argwhere(page.lit == MARKED):
            yield from _path([_cross(xs[c] + 3, ys[r] + 3, xs[c + 1] - 3, ys[r + 1] - 3)], "edge")
        yield from _path(self._cuts(xs, ys), "gap")

    def _labels(self, page: Page, xs: Sequence[float], ys: Sequence[float]) -> Iterator[str]:
        """The indices of highlighted cells and of the ends, as far as they do not overlap."""
        lit: npt.NDArray[np.bool_] = page.lit > 0
        rows_lit, columns_lit = np.logical_or.reduce(lit, axis=1), np.logical_or.reduce(lit, axis=0)
        if self.grid.dims[1] is not None:
            taken: list[tuple[float, float]] = []
            for c in _labelled(self.grid.columns, columns_lit):
                label = str(self.grid.columns[c])
                x = (xs[c] + xs[c + 1]) / 2
                own = x - len(label) * _LABEL / 2 - 3, x + len(label) * _LABEL / 2 + 3
                if all(own[1] <= a or b <= own[0] for a, b in taken):
                    taken.append(own)
                    yield text(x, ys[0] - 4, label, "label middle")
        if self.grid.dims[0] is not None:
            rows: list[float] = []
            for r in _labelled(self.grid.rows, rows_lit):
                y = (ys[r] + ys[r + 1]) / 2 + 4
                if all(abs(y - other) >= 11 for other in rows):
                    rows.append(y)
                    yield text(xs[0] - 4, y, str(self.grid.rows[r]), "label right")

    def _lines(self, xs: Sequence[str], ys: Sequence[str]) -> Iterator[str]:
        """The lines between cells, but not across cuts."""
        rows, columns = self.grid.rows, self.grid.columns

        def is_edge(axis: Sequence[int | None], k: int) -> bool:
            return any(index is not None for index in axis[max(k - 1, 0) : k + 1])

        for a, b in _segments(columns):
            yield from (f"M{xs[a]},{y}H{xs[b]}" for r, y in enumerate(ys) if is_edge(rows, r))
        for a, b in _segments(rows):
            yield from (f"M{x},{ys[a]}V{ys[b]}" for c, x in enumerate(xs) if is_edge(columns, c))

    def _outline(self, lit: npt.NDArray[np.bool_], xs: Sequence[str], ys: Sequence[str]) -> Iterator[str]:
        """A line around highlighted cells, across cuts too."""
        for c in _gaps(self.grid.columns):
            lit[:, c] = lit[:, c - 1] & lit[:, c + 1]
        for r in _gaps(self.grid.rows):
            lit[r] = lit[r - 1] & lit[r + 1]
        around = np.pad(lit, 1)
        rows, columns = around[:, 1:-1], around[1:-1]
        yield from (f"M{xs[c]},{ys[r]}H{xs[c + 1]}" for r, c in np.argwhere(rows[1:] != rows[:-1]))
        yield from (f"M{xs[c]},{ys[r]}V{ys[r + 1]}" for r, c in np.argwhere(columns[:, 1:] != columns[:, :-1]))

    def _cuts(self, xs: Sequence[float], ys: Sequence[float]) -> Iterator[str]:
        """A zigzag along every cut."""
        for c in _gaps(self.grid.columns):
            zigzag = "".join(f"l{side},{step:.2f}" for side, step in _zigzag(ys[-1] - ys[0]))
            yield f"M{_n(xs[c] + _GAP / 2)},{_n(ys[0])}{zigzag}"
        for r in _gaps(self.grid.rows):
            zigzag = "".join(f"l{step:.2f},{side}" for side, step in _zigzag(xs[-1] - xs[0]))
            yield f"M{_n(xs[0])},{_n(ys[r] + _GAP / 2)}{zigzag}"


def _path(parts: Iterable[str], kind: str) -> Iterator[str]:
    if path := "".join(parts):
        yield f'<path d="{path}" class="{kind}"/>'


def _cross(x0: float, y0: float, x1: float, y1: float) -> str:
    return f"M{_n(x0)},{_n(y0)}L{_n(x1)},{_n(y1)}M{_n(x0)},{_n(y1)}L{_n(x1)},{_n(y0)}"


def _gaps(axis: Sequence[int | None]) -> list[int]:
    return [k for k, index in enumerate(axis) if index is None]


def _segments(axis: Sequence[int | None]) -> list[tuple[int, int]]:
    """The stretches between cuts."""
    return [(a + 1, b) for a, b in pairwise([-1, *_gaps(axis), len(axis)])]


def _zigzag(length: float) -> list[tuple[int, float]]:
    """The steps of a line of this length, to one side and the other."""
    n = max(2, round(length / 6))
    return [(3 - 6 * (k % 2), length / n) for k in range(n)]


def _labelled(axis: Sequence[int | None], lit: npt.NDArray[np.bool_]) -> list[int]:
    """The positions of labels, the most important first."""
    marked = [k for k in np.flatnonzero(lit).tolist() if axis[k] is not None]
    cuts = [place for k in _gaps(axis) for place in (k - 1, k + 1)]
    wanted = [*marked[:1], *marked[-1:], 0, len(axis) - 1, *cuts]
    return [k for k in dict.fromkeys(wanted) if 0 <= k < len(axis) and axis[k] is not None]


def _runs(mask: npt.NDArray[np.bool_]) -> Iterator[tuple[int, int, int]]:
    """Row, first column and end of every run of cells."""
    change = np.diff(np.pad(mask.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    starts, ends = np.argwhere(change == 1), np.argwhere(change == -1)
    for (r, a), (_, b) in zip(starts.tolist(), ends.tolist(), strict=True):
        yield r, a, b


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _legend(scene: MapScene, x: float, y: float) -> tuple[list[str], float]:
    """The legend of the colours, and its right end."""
    parts: list[str] = []
    for kind, words in scene.legend:
        if kind == "read":
            continue  # the levels of grey cover it
        box = f"M{_n(x)},{_n(y)}h14v14h-14z"
        shown = {
            "lit": [(box, "lit"), (box, "edge")],
            "may": [(box, "line"), (f"M{_n(x)},{_n(y + 14)}l14,-14", "may")],
            "marked": [(_cross(x + 2, y + 2, x + 12, y + 12), "edge")],
            "none": [(box, "line")],
            "unknown": [(box, "line"), (f"M{_n(x + 7)},{_n(y + 7)}h.01", "dot")],
        }
        for path, name in shown.get(kind, [(box, kind), (box, "line")]):
            parts += _path([path], name)
        parts.append(text(x + 20, y + 11, words, "note"))
        x += 20 + len(words) * CHARACTER + 16
    return parts, x
