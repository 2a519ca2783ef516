"""The contents of a picture of maps: an output and its operands as grids, with the reads of one element or tile.

The number of cells is bounded for all sizes: long axes are cut, and only some planes of an array are drawn.  A cell is
lit if the maps reach it from the lit elements; it is only "may be read" if the maps are not exact or depend on runtime
values.  Rendering is in ``map_svg.py`` and ``map_text.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import IndexingMap
from ..errors import HlomapError
from ..maps.union_count import count_reads
from .layouts import with_gaps

Bounds: TypeAlias = Sequence[tuple[int, int]]
Points: TypeAlias = npt.NDArray[np.int64]
Counts: TypeAlias = npt.NDArray[np.float64]

LIT, MAY, MARKED = 1, 2, 3
"""Codes of cells: lit or read by a lit element, maybe read by a lit element, and crossed."""

_MAX_AXIS = 32  # cells of an axis that is drawn completely
_MAX_LINE = 48  # in an array of one dimension
_MAX_CELLS = 1200  # of one array
_MAX_PAGES = 6
_MAX_OPERANDS = 8
_MAX_COUNTED = 1000  # maps of one array that are counted; beyond that only bounds are drawn
_HEAD, _TAIL = 6, 2  # cells at the ends of a long axis

Relation: TypeAlias = Literal["read", "reached"]
_Reader: TypeAlias = Callable[[Points], "npt.NDArray[np.uint8]"]


@dataclass(frozen=True)
class Array:
    """An array: its name, facts about it, and the least and greatest index in every dimension."""

    label: str
    facts: str
    bounds: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Operand:
    """An array and the maps to it; None if any of its elements may be read."""

    array: Array
    maps: tuple[IndexingMap, ...] | None
    is_exact: bool = True
    #: Whether greys say how often elements are read by all points of the maps.
    is_counted: bool = True
    #: An element to cross.
    marked: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Page:
    """A plane of an array: its index, and for each cell how often it is read and whether it is lit.

    ``counts`` is -1 if the number is not known, and NaN in a gap or if reads are not counted.
    """

    title: str
    counts: Counts
    lit: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class ArrayGrid:
    """An array as planes; None in ``rows`` and ``columns`` is a gap, where cells are left out."""

    array: Array
    rows: tuple[int | None, ...]
    columns: tuple[int | None, ...]
    pages: tuple[Page, ...]
    n_hidden: int
    is_empty: bool
    #: The dims of rows and columns; None for the only row of an array of one dimension.
    dims: tuple[int | None, int | None]
    #: :data:`LIT` or :data:`MAY` if that is true of every element, drawn or not; else 0.
    whole: int = 0


@dataclass(frozen=True)
class MapScene:
    """The contents of a picture of maps."""

    title: str
    facts: tuple[str, ...]
    output: ArrayGrid
    operands: tuple[ArrayGrid, ...]
    n_hidden: int
    #: The numbers of reads that are drawn in grey, ascending, each with its level from 1.
    levels: dict[float, int]
    #: The kinds of cells that occur, with words: a level of grey as ``g1`` to ``g5``, all levels together as ``read``.
    legend: tuple[tuple[str, str], ...]
    #: The relation of the maps to an element: ``"read"``, or ``"reached"`` for maps whose direction is not known.
    relation: Relation = "read"


def choose_element(bounds: Bounds, operands: Sequence[Operand]) -> tuple[int, ...] | None:
    """An element of the output that reads something, near the first one but not on an edge; None in an empty array."""
    if any(lo > hi for lo, hi in bounds):
        return None
    drawn = _drawn_dims(bounds)
    near = [lo for lo, _ in bounds]
    for step, dim in enumerate(drawn, 3 - len(drawn)):
        near[dim] = min(bounds[dim][0] + step, bounds[dim][1])
    candidates = [near, [lo + (hi - lo) // 2 for lo, hi in bounds], [lo for lo, _ in bounds], [hi for _, hi in bounds]]
    maps = [m for operand in operands for m in operand.maps or ()]
    for candidate in candidates:
        if any(_image_bounds(_restricted(m, [(i, i) for i in candidate])) is not None for m in maps):
            return tuple(candidate)
    return tuple(near)


def build_map_scene(
    title: str,
    facts: Sequence[str],
    output: Array,
    operands: Sequence[Operand],
    lit: Bounds | None,
    lit_per_operand: Sequence[Bounds | None] | None = None,
    relation: Relation = "read",
) -> MapScene:
    """The contents of the picture; ``lit`` has inclusive bounds in the output, None to light nothing.

    ``lit_per_operand`` replaces ``lit`` as the box of the dims of each operand's maps.
    """
    shown = operands[:_MAX_OPERANDS]
    boxes = [lit] * len(shown) if lit_per_operand is None else list(lit_per_operand)[: len(shown)]

    def in_box(points: Points) -> npt.NDArray[np.uint8]:
        return np.zeros(len(points), np.uint8) if lit is None else _inside(points, lit).astype(np.uint8) * LIT

    out = _grid(output, in_box, None, True, [] if lit is None else [lit])
    grids = [_operand_grid(operand, box) for operand, box in zip(shown, boxes, strict=True)]
    pages = [page for grid in grids for page in grid.pages]
    counts = {float(n) for page in pages for n in np.unique(page.counts[(page.counts > 0) & (page.lit != LIT)])}
    levels = _levels(sorted(counts))
    n_hidden = len(operands) - len(shown)
    legend = tuple(_legend([*out.pages, *pages], pages, levels, relation))
    return MapScene(title, tuple(facts), out, tuple(grids), n_hidden, levels, legend, relation)


def _legend(
    every: Sequence[Page], of_operands: Sequence[Page], levels: Mapping[float, int], relation: Relation
) -> Iterator[tuple[str, str]]:
    codes = {int(code) for page in every for code in np.unique(page.lit)}
    if LIT in codes:
        yield "lit", f"lit, and what it {'reads' if relation == 'read' else 'reaches'}"
    if MAY in codes:
        yield "may", f"may be {relation}"
    if MARKED in codes:
        yield "marked", "changes the lit element"
    if any((page.counts[page.lit == 0] == 0).any() for page in of_operands):
        yield "none", f"never {relation}"
    for level in sorted(set(levels.values())):
        counts = [n for n, own in levels.items() if own == level]
        numbers = _times(counts[0]) if len(counts) == 1 else f"{_times(counts[0])} to {_times(counts[-1])}"
        yield f"g{level}", f"{relation} " + {"1": "once", "2": "twice"}.get(numbers, f"{numbers} times")
    if levels:
        yield "read", f"{relation} by others"
    if any((page.counts[page.lit == 0] < 0).any() for page in of_operands):
        yield "unknown", "not counted"


def _times(n: float) -> str:
    return f"{int(n):,}" if n < 2**53 else f"{n:.3g}"


def _levels(counts: list[float]) -> dict[float, int]:
    """Five levels of grey: one for each number if there are few, else by powers."""
    if len(counts) <= 5:
        middle = {1: [1], 2: [1, 4], 3: [1, 3, 5]}.get(len(counts), list(range(1, len(counts) + 1)))
        return dict(zip(counts, middle, strict=True))
    span = np.log(counts[-1]) - np.log(counts[0])
    return {n: 1 + min(4, int(5 * (np.log(n) - np.log(counts[0])) / span)) for n in counts}


def _size(bounds: tuple[int, int]) -> int:
    return max(0, bounds[1] - bounds[0] + 1)


def _drawn_dims(bounds: Bounds) -> list[int]:
    """The last two dims that have more than one index, or the last ones."""
    long = [d for d, b in enumerate(bounds) if _size(b) != 1][-2:]
    rest = [d for d in reversed(range(len(bounds))) if d not in long]
    return sorted(long + rest[: 2 - len(long)])


def _operand_grid(operand: Operand, lit: Bounds | None) -> ArrayGrid:
    maps = operand.maps
    crossed = [] if operand.marked is None else [[(i, i) for i in operand.marked]]

    def mark(points: Points, cells: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        for box in crossed:
            cells[_inside(points, box)] = MARKED
        return cells

    if maps is None:
        every = MAY if lit is not None else 0

        def anything(points: Points) -> npt.NDArray[np.uint8]:
            return mark(points, np.full(len(points), every, np.uint8))

        grid = _grid(operand.array, anything, None, not operand.is_counted, crossed)
        return replace(grid, whole=0 if crossed else every)
    counted = maps if operand.is_counted and not any(m.runtime for m in maps) else None
    narrowed = [] if lit is None else [(m, _restricted(m, lit)) for m in maps]
    exact = [own for m, own in narrowed if operand.is_exact and not m.runtime]
    other = [own for m, own in narrowed if not (operand.is_exact and not m.runtime)]
    wanted = [found for own in (*exact, *other) if (found := _image_bounds(own)) is not None]

    def read(points: Points) -> npt.NDArray[np.uint8]:
        lit_cells = np.zeros(len(points), np.uint8)
        for some, code in ((other, MAY), (exact, LIT)):
            found = _counts(some, points)
            if found is None:
                box = np.logical_or.reduce([_inside(points, b) for b in wanted], axis=0, initial=False)
                lit_cells[box & (lit_cells == 0)] = MAY
            else:
                lit_cells[found > 0] = code
        return mark(points, lit_cells)

    grid = _grid(operand.array, read, counted, not operand.is_counted, [*crossed, *wanted])
    return replace(grid, whole=_whole(grid, {LIT: exact, MAY: other}))


def _whole(grid: ArrayGrid, maps: Mapping[int, Sequence[IndexingMap]]) -> int:
    """The code that every element has, or 0; if some are not drawn, a map with that code must reach all."""
    drawn = np.ix_([i is not None for i in grid.rows], [i is not None for i in grid.columns])
    codes = {int(code) for page in grid.pages for code in np.unique(page.lit[drawn])}
    code = codes.pop() if len(codes) == 1 else 0
    if grid.n_hidden or None in (*grid.rows, *grid.columns):
        n = prod(map(_size, grid.array.bounds))
        for m in maps.get(code, ()):
            with suppress(HlomapError, OverflowError):
                if m.count(distinct=True).lower >= n:
                    return code
        return 0
    return code if code in maps else 0


def _counts(maps: Sequence[IndexingMap], points: Points) -> Counts | None:
    try:
        return None if len(maps) > _MAX_COUNTED else count_reads(maps, points)
    except (HlomapError, OverflowError):
        return None


def _inside(points: Points, box: Bounds) -> npt.NDArray[np.bool_]:
    inside = np.ones(len(points), np.bool_)
    for k, (lo, hi) in enumerate(box):
        inside &= (lo <= points[:, k]) & (points[:, k] <= hi)
    return inside


def _restricted(m: IndexingMap, box: Bounds) -> IndexingMap:
    """The map for a box of its dims."""
    return m.restrict(dict(enumerate(box))) if len(m.dims) == len(box) else m


def _image_bounds(m: IndexingMap) -> list[tuple[int, int]] | None:
    """The bounds of the elements that a map reaches; None for no element."""
    try:
        own = m.simplify()
        if own.is_known_empty or own.is_undefined:
            return None
        return [own.bounds(k) for k in range(len(own.results))]
    except (HlomapError, OverflowError):
        return None


def _grid(
    array: Array, lit: _Reader, counted: Sequence[IndexingMap] | None, is_plain: bool, wanted: Sequence[Bounds] = ()
) -> ArrayGrid:
    bounds = array.bounds
    drawn = _drawn_dims(bounds)
    rows: list[int | None] = [0]
    columns: list[int | None] = [0]
    limit = _MAX_LINE if len([b for b in bounds if _size(b) != 1]) <= 1 else _MAX_AXIS
    if drawn:
        columns = _choose(bounds[drawn[-1]], [b[drawn[-1]] for b in wanted], limit)
    if len(drawn) == 2:
        rows = _choose(bounds[drawn[0]], [b[drawn[0]] for b in wanted], limit)
    others = [d for d in range(len(bounds)) if d not in drawn]
    n_pages = prod(_size(bounds[d]) for d in others)
    is_empty = any(lo > hi for lo, hi in bounds)
    most = max(1, min(_MAX_PAGES, _MAX_CELLS // max(1, len(rows) * len(columns))))
    numbers = [] if is_empty else _choose_pages(bounds, others, n_pages, most, wanted)
    row_values, column_values = (np.array([0 if i is None else i for i in axis], np.int64) for axis in (rows, columns))
    is_gap = np.logical_or.outer([i is None for i in rows], [i is None for i in columns])
    pages = []
    for number in numbers:
        fixed = _unravel(number, [bounds[d] for d in others])
        points = np.zeros((is_gap.size, len(bounds)), np.int64)
        points[:, others] = fixed
        if drawn:
            points[:, drawn[-1]] = np.tile(column_values, len(rows))
        if len(drawn) == 2:
            points[:, drawn[0]] = np.repeat(row_values, len(columns))
        found = None if is_plain or counted is None else _counts(counted, points)
        n = np.full(len(points), np.nan if is_plain else -1.0) if found is None else found
        cells = lit(points).reshape(is_gap.shape)
        cells[is_gap] = 0
        table = n.reshape(is_gap.shape).copy()
        table[is_gap] = np.nan
        at = dict(zip(others, fixed, strict=True))
        is_after_hidden = number > 0 and number - 1 not in numbers
        title = "[" + ", ".join(str(at.get(d, ":")) for d in range(len(bounds))) + "]" if others else ""
        title = "… " * is_after_hidden + title
        pages.append(Page(title, table, cells))
    dims = (drawn[0] if len(drawn) == 2 else None, drawn[-1] if drawn else None)
    return ArrayGrid(array, tuple(rows), tuple(columns), tuple(pages), n_pages - len(pages), is_empty, dims)


def _choose(bounds: tuple[int, int], wanted: Sequence[tuple[int, int]], limit: int) -> list[int | None]:
    """The indices of an axis to draw: all, or the ends and the surroundings of lit cells."""
    lo, hi = bounds
    if _size(bounds) <= limit:
        return list(range(lo, hi + 1))
    chosen = {*range(lo, lo + _HEAD), *range(hi - _TAIL + 1, hi + 1)}
    for low, high in wanted[:2]:
        around = range(low - 1, high + 2) if high - low < 10 else [*range(low - 1, low + 3), *range(high - 2, high + 2)]
        chosen |= {i for i in around if lo <= i <= hi}
    return with_gaps(chosen)


def _choose_pages(
    bounds: Bounds, others: Sequence[int], n_pages: int, most: int, wanted: Sequence[Bounds]
) -> list[int]:
    """The numbers of the planes to draw: planes with a lit cell, then the first ones."""
    if n_pages <= most:
        return list(range(n_pages))
    lit: list[int] = []
    for box in wanted:
        for end in (0, 1):
            number = 0
            for (lo, hi), edge in ((bounds[d], box[d][end]) for d in others):
                number = number * _size((lo, hi)) + min(max(edge, lo), hi) - lo
            lit.append(number)
    return sorted(list(dict.fromkeys([*lit, *range(most)]))[:most])


def _unravel(number: int, bounds: Bounds) -> list[int]:
    index = []
    for b in reversed(bounds):
        number, i = divmod(number, _size(b))
        index.append(i + b[0])
    return index[::-1]
