"""The elements of a constant array in few pieces: runs of equal values, or of integers with equal steps.

Runs along the last dimension come first; then rows with the same number of runs, whose ends and values move by equal
steps, become one, dimension by dimension outward: a triangle is one piece.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core import Expr, IndexingMap
from ..dtypes import is_integer, is_packed
from ..lazy import np
from ._evaluation import Array
from ._known import MAX_PIECES, UNKNOWN, Piece, Pieces, constant_or_affine, merged

_MAX_ELEMENTS = 1 << 16
"""Elements of an array whose runs are looked for."""


class _Run(NamedTuple):
    """Elements whose index and value are linear in the index along the dimensions further out.

    ``numbers``: the first and last index along each dimension from here inward, then the value.  ``steps``: for each
    number its steps along the dimensions between that one and this one.
    """

    kind: object
    numbers: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]


def pieces_of(values: Array) -> Pieces:
    """The pieces of a constant array of numbers."""
    if values.size == 0 or values.dtype.kind == "c":
        return UNKNOWN
    first = values.reshape(-1)[0]
    if (values == first).all() or values.size == 1:
        return (Piece(frozenset(numbers_of(values.reshape(-1)[:1]))),)
    steps = _affine_steps(values) if is_integer(values.dtype) else None
    if steps is not None:
        return (Piece(_linear(int(first), steps), IndexingMap(list(values.shape), [])),)
    if values.size > _MAX_ELEMENTS:
        return UNKNOWN
    rows: list[list[_Run]] = []
    for row in values.reshape(-1, values.shape[-1]):
        runs = _runs(numbers_of(row), steps=is_integer(values.dtype))
        if len(runs) > MAX_PIECES:
            return UNKNOWN
        rows.append(runs)
    for size in reversed(values.shape[:-1]):
        rows = [_stacked(rows[i : i + size]) for i in range(0, len(rows), size)]
        if any(len(runs) > MAX_PIECES for runs in rows):
            return UNKNOWN
    (runs,) = rows
    return merged((_piece(run, values.shape) for run in runs), values.shape)


def numbers_of(values: Array) -> list[Any]:
    """The elements as numbers of Python: zeros of both signs are one, and so are NaNs of any bits."""
    if values.dtype.kind == "b" or is_integer(values.dtype):
        found: list[Any] = (values.astype(np.int64) if is_packed(values.dtype) else values).reshape(-1).tolist()
        return found
    return [math.nan if math.isnan(x) else x + 0.0 for x in values.astype(np.float64).reshape(-1).tolist()]


def _affine_steps(values: Array) -> list[int] | None:
    """The step along each dimension, where the elements are an affine function of their index; else None."""
    if np.abs(values.astype(np.float64)).max() >= 2**31:
        return None
    wide = values.astype(np.int64)
    origin = (0,) * wide.ndim
    at = [(*origin[:d], min(1, n - 1), *origin[d + 1 :]) for d, n in enumerate(wide.shape)]
    steps = [int(wide[index] - wide[origin]) for index in at]
    along: Sequence[Array] = np.indices(wide.shape, sparse=True)
    expected = wide[origin] + sum(step * index for step, index in zip(steps, along, strict=True))
    return steps if (expected == wide).all() else None


def _runs(row: Sequence[Any], *, steps: bool) -> list[_Run]:
    """Runs of equal elements, or of integers with equal ``steps``, whose value is the one where the index is 0."""
    found: list[_Run] = []
    start = 0
    while start < len(row):
        first, end = row[start], start + 1
        step = row[end] - first if steps and end < len(row) else 0
        while end < len(row) and (row[end] == row[end - 1] + step or (not steps and row[end] is first)):
            end += 1
        if steps:
            found.append(_Run(None, (start, end - 1, first - step * start), ((), (), (step,))))
        else:
            found.append(_Run(first, (start, end - 1, 0), ((), (), ())))
        start = end
    return found


def _stacked(rows: Sequence[Sequence[_Run]]) -> list[_Run]:
    """The runs of consecutive rows, with one dimension more."""
    found: list[_Run] = []
    start = 0
    while start < len(rows):
        end, steps = start + 1, None
        while end < len(rows) and (own := _steps(rows[end - 1], rows[end])) is not None and own == (steps or own):
            steps, end = own, end + 1
        for k, run in enumerate(rows[start]):
            step = steps[k] if steps is not None else (0,) * len(run.numbers)
            numbers = tuple(n - s * start for n, s in zip(run.numbers, step, strict=True))
            own_steps = tuple((s, *before) for s, before in zip(step, run.steps, strict=True))
            found.append(_Run(run.kind, (start, end - 1, *numbers), ((), (), *own_steps)))
        start = end
    return found


def _steps(a: Sequence[_Run], b: Sequence[_Run]) -> list[tuple[int, ...]] | None:
    """By how much each number of each run moves; None where the rows differ otherwise."""
    if [(run.kind, run.steps) for run in a] != [(run.kind, run.steps) for run in b]:
        return None
    return [tuple(y - x for x, y in zip(p.numbers, q.numbers, strict=True)) for p, q in zip(a, b, strict=True)]


def _piece(run: _Run, sizes: Sequence[int]) -> Piece:
    n = len(sizes)
    numbers = [_linear(number, steps) for number, steps in zip(run.numbers, run.steps, strict=True)]
    constraints = []
    for d in range(n):
        index = Expr.dim(d)
        constraints += [(index - numbers[2 * d], 0, sizes[d] - 1), (numbers[2 * d + 1] - index, 0, sizes[d] - 1)]
    region = IndexingMap(list(sizes), [], constraints=constraints).simplify(keep_point_dims=True)
    if run.kind is not None:
        return Piece(frozenset([run.kind]), region)  # type: ignore[list-item]
    value = numbers[-1]
    return Piece(constant_or_affine(value), region)


def _linear(number: int, steps: Sequence[int]) -> Expr:
    total = Expr.constant(number)
    for d, step in enumerate(steps):
        total = total + Expr.dim(d) * step
    return total
