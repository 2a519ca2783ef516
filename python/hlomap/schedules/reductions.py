"""Reductions of rows and columns of a dense array.

:func:`canonical` sees an array in memory order as ``[a, b, c]``: a row reduction keeps b and reduces a and c, a column
reduction reduces b and keeps a and c.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from .._core import Expr, Shape, grid_maps
from ..base.devices import Device
from .launch import BLOCK, LAUNCHES, THREAD, Launch, ceil_div

_ROW_MINOR, _ROW_MAJOR, _COLUMN = 16384, 8, 4096


class Canonical(NamedTuple):
    """A reduction as ``[a, b, c]``: over a and c if it ``is_row``, else over b."""

    is_row: bool
    sizes: tuple[int, int, int]

    @property
    def kept(self) -> tuple[int, ...]:
        """The sizes of the result."""
        a, b, c = self.sizes
        return (b,) if self.is_row else (a, c)


class Widths(NamedTuple):
    """The least bits of an element of any input and of any output of the fusion; ``complex``: the type of the hero."""

    input: int
    output: int
    complex: bool = False


def canonical(sizes: Sequence[int], reduced: Collection[int]) -> Canonical | None:
    """The form of a reduction of these dimensions in memory order; None if neither these nor the others are adjacent.

    >>> canonical([2, 3, 5], [1]).sizes, canonical([2, 3, 5], [0, 2]).is_row, canonical([2, 3, 5, 7], [0, 2])
    ((2, 3, 5), True, None)
    """
    kept = [d for d in range(len(sizes)) if d not in reduced]
    if not kept:
        return Canonical(True, (1, 1, prod(sizes)))
    for group, is_row in ((kept, True), (sorted(reduced), False)):
        if group and group[-1] - group[0] + 1 == len(group):
            a, b, c = prod(sizes[: group[0]]), prod(sizes[d] for d in group), prod(sizes[group[-1] + 1 :])
            if is_row and b == 1:
                return Canonical(True, (1, 1, a * c))
            if c == 1:
                return Canonical(not is_row, (1, a, b))
            return Canonical(is_row, (a, b, c))
    return None


def refusal(form: Canonical | None) -> str | None:
    """Why XLA has no better emitter for a reduction than a loop; None if it has."""
    if form is None:
        return "neither the kept nor the reduced dimensions are adjacent in memory"
    _, b, c = form.sizes
    if 0 in form.sizes:
        return "no elements"
    if form.is_row:
        return None if c >= 32 or 32 % c == 0 else f"rows of {c} elements are below 32 and do not divide it"
    small = b < 32 or (b < 64 and c < 32) or (b < 128 and c < 8) or (b < 256 and c < 3)
    return f"columns of {b} elements, {c} side by side, are too small" if small else None


def split(form: Canonical) -> str | None:
    """Why XLA splits a reduction in two before it schedules it; None if it does not."""
    a, b, c = form.sizes
    if form.is_row and c > _ROW_MINOR:
        return f"XLA splits rows of {c} elements, more than {_ROW_MINOR}, before it schedules them"
    if form.is_row and a > _ROW_MAJOR:
        return f"XLA splits {a} rows for each result, more than {_ROW_MAJOR}, before it schedules them"
    if not form.is_row and b > _COLUMN:
        return f"XLA splits columns of {b} elements, more than {_COLUMN}, before it schedules them"
    return None


@lru_cache(LAUNCHES)
def reduction(form: Canonical, shapes: tuple[Shape, Shape], widths: Widths, device: Device) -> Launch:
    """The launch that XLA picks for a reduction of ``shapes[0]`` to ``shapes[1]`` in this form."""
    if not form.is_row:
        found = small_column(form, shapes, widths)
        return found if isinstance(found, Launch) else column(form, shapes, widths)
    found = multi_row(form, shapes, widths, device)
    return found if isinstance(found, Launch) else row(form, shapes, widths)


def _vector(extent: int, threads: int, widths: Widths) -> int:
    """The number of neighbouring elements that a thread reads at once along an extent."""
    if extent % 2 or 2 * threads > extent or widths.complex or widths.input >= 64:
        return 1
    if widths.input >= 32 or 4 * threads > extent:
        return 2
    return 4 if extent % 4 == 0 else 2


def multi_row(form: Canonical, shapes: tuple[Shape, Shape], widths: Widths, device: Device) -> Launch | str:
    """The launch for rows of a power of two, several in a warp; or why there is none."""
    a, b, c = form.sizes
    if c & (c - 1):
        return f"rows of {c} elements, not a power of two"
    least, most = sorted((widths.input, widths.output))
    vector = min(c, max(1, 64 // least))
    if most >= 32:
        vector = min(vector, max(1, 128 // most))

    def rows(vector: int) -> int:
        return min(b, max(1, 256 // (c // vector)))

    while vector > 1 and ceil_div(b, rows(vector)) < device.n_multiprocessors:
        vector //= 2
    lanes = c // vector
    if lanes > 32:
        return f"a row takes {lanes} threads, more than a warp"
    n_rows = rows(vector)
    s = Expr.range
    r = BLOCK * n_rows + THREAD // lanes
    index = [s(0), r, THREAD % lanes * vector + s(1)]
    grid = (n_rows * lanes, (ceil_div(b, n_rows), 1, 1))
    (source,) = grid_maps(*grid, [(index, form.sizes, shapes[0])], (a, vector))
    (target,) = grid_maps(*grid, [([r], [b], shapes[1])], (), [(THREAD % lanes, 0, 0)])
    return Launch("multi_row_reduction", *grid, vector, target, source)


def row(form: Canonical, shapes: tuple[Shape, Shape], widths: Widths) -> Launch:
    """Rows of whole warps: shuffles within a warp, shared memory between the warps of a row."""
    a, b, c = form.sizes
    width = min(1024, ceil_div(ceil_div(c, 16), 32) * 32)
    n_rows = min(b, max(1, 256 // width))
    vector = _vector(c, width, widths)
    s = Expr.range
    r, lane, n_warps = THREAD // width, THREAD % width, width // 32
    index = [s(0), BLOCK * n_rows + r, (s(1) * width + lane) * vector + s(2)]
    steps = min(16 // vector, ceil_div(ceil_div(c, vector), width))
    grid = (n_rows * width, (ceil_div(b, n_rows), 1, 1))
    (source,) = grid_maps(*grid, [(index, form.sizes, shapes[0])], (a, steps, vector))
    (target,) = grid_maps(*grid, [(index[1:2], [b], shapes[1])], (), [(lane, 0, 0)])
    if n_warps == 1:
        return Launch("row_reduction", *grid, vector, target, source)
    shared_shape = (n_rows, n_warps + (n_warps == 32))
    exists = (index[1], 0, b - 1)
    (write,) = grid_maps(*grid, [([r, lane // 32], shared_shape, None)], (), [(lane % 32, 0, 0), exists])
    (read,) = grid_maps(*grid, [([r, lane], shared_shape, None)], (), [(lane, 0, n_warps - 1), exists])
    return Launch("row_reduction", *grid, vector, target, source, shared_shape, write, read)


def column(form: Canonical, shapes: tuple[Shape, Shape], widths: Widths) -> Launch:
    """32 * vector neighbouring columns for each block, transposed in shared memory."""
    a, b, c = form.sizes
    vector = _vector(c, 32, widths)
    n_tiles = ceil_div(c, 32 * vector)
    s = Expr.range
    warp, lane, major, tile = THREAD // 32, THREAD % 32, BLOCK // n_tiles, BLOCK % n_tiles
    read_column = (tile * 32 + lane) * vector + s(1)
    written_column = (tile * 32 + warp) * vector + s(0)
    grid = (1024, (a * n_tiles, 1, 1))
    index = [major, s(0) * 32 + warp, read_column]
    (source,) = grid_maps(*grid, [(index, form.sizes, shapes[0])], (ceil_div(b, 32), vector))
    (target,) = grid_maps(*grid, [([major, written_column], [a, c], shapes[1])], (vector,), [(lane, 0, 0)])
    shared_shape = (32, 32 * vector + 1)
    columns = [((tile * 32 + lane) * vector + s(0), 0, c - 1), (written_column, 0, c - 1)]
    (write,) = grid_maps(*grid, [([lane, warp * vector + s(0)], shared_shape, None)], (vector,), columns[:1])
    (read,) = grid_maps(*grid, [([warp, lane * vector + s(0)], shared_shape, None)], (vector,), columns[1:])
    return Launch("column_reduction", *grid, vector, target, source, shared_shape, write, read)


def small_column(form: Canonical, shapes: tuple[Shape, Shape], widths: Widths) -> Launch | str:
    """The launch for 32 columns side by side, or a divisor: threads read in memory order; or why there is none."""
    a, b, c = form.sizes
    if 32 % c:
        return f"{c} columns side by side do not divide 32"
    threads, vector = 128, _vector(b * c, 32, widths)
    while threads * vector // c > 32:
        vector, threads = (vector // 2, threads) if vector > 1 else (vector, threads // 2)
    rows = threads * vector // c
    s = Expr.range
    position = (s(0) * threads + THREAD) * vector + s(1)
    grid = (threads, (a, 1, 1))
    flat = [BLOCK, position], [a, b * c], shapes[0]
    (source,) = grid_maps(*grid, [flat], (ceil_div(b * c, threads * vector), vector))
    kept, step = (THREAD + s(0) * threads) // rows, THREAD % rows
    (target,) = grid_maps(*grid, [([BLOCK, kept], [a, c], shapes[1])], (vector,), [(step, 0, 0)])
    shared_shape = (rows, c + 1)
    own = THREAD * vector + s(0)
    (write,) = grid_maps(*grid, [([own // c, own % c], shared_shape, None)], (vector,))
    (read,) = grid_maps(*grid, [([step, kept], [rows, c], None)], (vector,))
    return Launch("small_column_reduction", *grid, vector, target, source, shared_shape, write, read)
