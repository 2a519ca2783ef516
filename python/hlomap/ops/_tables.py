"""The elements of a constant array in few pieces.

Integers that are a sum of functions of one index each come first, where each of these has few runs of equal steps, or
repeats but for a step: ``i floordiv 2``, ``5 - i``, ``i + 1 - 2 * (i mod 2)``.  Else the pieces are runs of equal
values along the last dimension; then rows with the same number of runs, whose ends and values move by equal steps,
become one, dimension by dimension outward: a triangle is one piece.  Where these are many, floats are told apart only
by whether they are zero: a band of weights in a matrix of zeros is one piece, if its ends are such functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

from .._core import Expr, IndexingMap
from ..base.dtypes import is_integer, is_packed
from ..base.lazy import np
from ._evaluation import Array
from ._known import ANYTHING, MAX_PIECES, NUMBER, UNKNOWN, Piece, Pieces, Some, constant_or_affine, merged

_MAX_ELEMENTS = 1 << 16
"""Elements of an array whose runs are looked for."""

_MAX_CHANGES = 2 * MAX_PIECES
"""Changes from element to element in a row: a run of integers with equal steps begins with two."""

_MAX_PERIOD = 64
"""Elements after which a function of an index may repeat."""

_MAX_PARTS = 8
"""Parts of a function of an index, and of a sum of such functions."""

_MAX_COMPONENTS = 8
"""Elements of a last dimension that are told apart."""

_ZERO = frozenset([0.0])


class _Run(NamedTuple):
    """Elements whose index and value are linear in the index along the dimensions further out.

    ``numbers``: the first and last index along each dimension from here inward, then the value.  ``steps``: for each
    number its steps along the dimensions between that one and this one.
    """

    kind: object
    numbers: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]


def pieces_of(values: Array, known: Array | None = None) -> Pieces:
    """The pieces of a constant array of numbers; only the elements marked by ``known`` are known."""
    if values.size == 0:
        return UNKNOWN
    if values.dtype.kind == "c" or not (known is None or known.any()):
        return _numbers(values)
    if known is not None and known.all():
        known = None
    first = values.reshape(-1)[0]
    if known is None and ((values == first).all() or values.size == 1):
        return (Piece(frozenset(numbers_of(values.reshape(-1)[:1]))),)
    integers = is_integer(values.dtype)
    if integers and known is not None:
        return UNKNOWN
    if known is not None and not np.isfinite(values[~known].astype(np.float64)).all():
        return _numbers(values)
    steps = _affine_steps(values) if integers else None
    if steps is not None:
        return (Piece(_linear(int(first), steps), IndexingMap(list(values.shape), [])),)
    if values.size > _MAX_ELEMENTS:
        return _numbers(values)
    found = _sum_of_functions(values) if integers else None
    found = found or _by_last_index(values) if integers else found
    if found is None:
        found = _runs_of_rows(values, known)
    if found is None and not integers and values.dtype.kind != "b":
        found = _band(values, known)
    return found or _numbers(values)


def _numbers(values: Array) -> Pieces:
    """The single piece of an array whose elements are not distinguished."""
    are_finite = values.dtype.kind == "b" or is_integer(values.dtype) or bool(np.isfinite(values).all())
    return UNKNOWN if are_finite else (Piece(ANYTHING),)


def _runs_of_rows(values: Array, known: Array | None) -> Pieces | None:
    integers = is_integer(values.dtype)
    if _n_changes(values, known) > _MAX_CHANGES:
        return None
    rows: list[list[_Run]] = []
    marks = None if known is None else known.reshape(-1, values.shape[-1])
    for k, row in enumerate(values.reshape(-1, values.shape[-1])):
        numbers = numbers_of(row)
        if marks is not None:
            numbers = [n if mark else Some.NUMBER for n, mark in zip(numbers, marks[k].tolist(), strict=True)]
        runs = _runs(numbers, steps=integers)
        if len(runs) > MAX_PIECES:
            return None
        rows.append(runs)
    for size in reversed(values.shape[:-1]):
        rows = [_stacked(rows[i : i + size]) for i in range(0, len(rows), size)]
        if any(len(runs) > MAX_PIECES for runs in rows):
            return None
    (runs,) = rows
    return merged((_piece(run, values.shape) for run in runs), values.shape)


def _n_changes(values: Array, known: Array | None) -> int:
    """The most changes of a value, or of a step between integers, in a row."""
    if is_integer(values.dtype):
        changes = np.diff(values.astype(np.int64), 2, axis=-1) != 0
    else:
        row = values.astype(np.float64)
        row = row if known is None else np.where(known, row, np.nan)
        before, after = row[..., :-1], row[..., 1:]
        changes = (before != after) & ~(np.isnan(before) & np.isnan(after))
    return int(changes.sum(-1).max(initial=0))


# ------------------------------------------------------------------------------------- functions of one index each


class _Part(NamedTuple):
    """A function of one index, defined if the index, or its remainder by a period, is in an interval."""

    value: Expr
    condition: tuple[Expr, int, int] | None


def _sum_of_functions(values: Array) -> Pieces | None:
    """The pieces of integers that are a sum of functions of one index each; None if these are not simple."""
    parts = _functions(values)
    if parts is None:
        return None
    pieces = []
    for chosen in product(*parts):
        value = sum((part.value for part in chosen), Expr.constant(int(values.reshape(-1)[0])))
        region = IndexingMap(list(values.shape), [], constraints=[p.condition for p in chosen if p.condition])
        pieces.append(Piece(constant_or_affine(value), region.simplify(keep_point_dims=True)))
    return merged(pieces, values.shape)


def _functions(values: Array) -> list[list[_Part]] | None:
    """The parts of each function whose sum, plus the first element, gives the integers."""
    if np.abs(values.astype(np.float64)).max() >= 2**31:
        return None
    wide = values.astype(np.int64)
    origin = wide.reshape(-1)[0]
    lines = [np.moveaxis(wide, d, 0).reshape(n, -1)[:, 0] - origin for d, n in enumerate(wide.shape)]
    expected = origin
    for d, line in enumerate(lines):
        expected = expected + line.reshape([-1 if i == d else 1 for i in range(wide.ndim)])
    if not (expected == wide).all():
        return None
    found = []
    for d, line in enumerate(lines):
        parts = _function(line, Expr.dim(d))
        if parts is None:
            return None
        found.append(parts)
    return found if math.prod(map(len, found)) <= _MAX_PARTS else None


def _function(line: Array, index: Expr) -> list[_Part] | None:
    """The parts of a function of one index: of one period and the step from each period to the next, or of all."""
    n = len(line)
    for period in range(1, min(_MAX_PERIOD, n // 2) + 1):
        steps = line[period:] - line[:-period]
        if (steps == steps[0]).all():
            step = int(steps[0])
            if period == 1:
                return [_Part(index * step, None)]
            return _runs_of_index(line[:period], index % period, index // period * step)
    return _runs_of_index(line, index, Expr.constant(0))


def _runs_of_index(line: Array, index: Expr, base: Expr) -> list[_Part] | None:
    """The runs of equal steps of a function of an index, on top of ``base``; None if they are many."""
    if len(line) > 2 and (np.diff(line, 2) != 0).sum() > 2 * _MAX_PARTS:
        return None
    runs = [run.numbers for run in _runs(line.tolist(), steps=True)]
    if len(runs) > _MAX_PARTS:
        return None
    slopes = [int(line[start + 1] - line[start]) if end > start else 0 for start, end, _ in runs]
    whole = len(runs) == 1
    return [
        _Part(base + index * slope + int(line[start]) - slope * start, None if whole else (index, start, end))
        for (start, end, _), slope in zip(runs, slopes, strict=True)
    ]


def _by_last_index(values: Array) -> Pieces | None:
    """The pieces for each value of a short last index, such as the component of an index vector."""
    if values.ndim < 2 or not 1 < values.shape[-1] <= _MAX_COMPONENTS:
        return None
    pieces: list[Piece] = []
    for k in range(values.shape[-1]):
        own = _sum_of_functions(values[..., k : k + 1])
        if own is None:
            return None
        dims = [Expr.dim(d) for d in range(values.ndim)]
        for piece in own:
            constraints = [] if piece.region is None else _conditions(piece.region)
            constraints.append((dims[-1], k, k))
            region = IndexingMap(list(values.shape), [], constraints=constraints).simplify(keep_point_dims=True)
            pieces.append(Piece(piece.values, region))
    return merged(pieces, values.shape)


def _conditions(region: IndexingMap) -> list[tuple[Expr, int, int]]:
    """The bounds of all dims but the last one, and the constraints, of a region."""
    bounds = [(Expr.dim(d), v.lower, v.upper) for d, v in enumerate(region.dims[:-1])]
    return bounds + [(c.expr, c.lower, c.upper) for c in region.constraints]


# ------------------------------------------------------------------------------------------------- bands of numbers


def _band(values: Array, known: Array | None) -> Pieces | None:
    """Zeros, and the band in which there may be other finite numbers, along a dimension."""
    wide = values.astype(np.float64)
    is_zero = wide == 0
    if known is not None:
        is_zero = is_zero & known
    if not np.isfinite(wide).all() or is_zero.all():
        return None
    for d in reversed(range(values.ndim)):
        found = _band_along(is_zero, d)
        if found is not None:
            return found
    return None


def _band_along(is_zero: Array, along: int) -> Pieces | None:
    rows = np.moveaxis(is_zero, along, -1)
    n = rows.shape[-1]
    if rows.all(-1).any():
        return None
    first, last = np.argmin(rows, -1), n - 1 - np.argmin(rows[..., ::-1], -1)
    if (n - rows.sum(-1) != last - first + 1).any():
        return None
    outer = [d for d in range(is_zero.ndim) if d != along]
    ends = [_end(end, outer, n) for end in (first, last)]
    if ends[0] is None or ends[1] is None:
        return None
    index, sizes = Expr.dim(along), is_zero.shape
    regions = (
        (NUMBER, [(index - ends[0], 0, n), (ends[1] - index, 0, n)]),
        (_ZERO, [(ends[0] - index, 1, n)]),
        (_ZERO, [(index - ends[1], 1, n)]),
    )
    pieces = []
    for value, constraints in regions:
        wide_enough = [(e, low, 2 * n) for e, low, _ in constraints]
        region = IndexingMap(list(sizes), [], constraints=wide_enough).simplify(keep_point_dims=True)
        if not region.is_known_empty:
            pieces.append(Piece(value, region))
    return merged(pieces, sizes)


def _end(end: Array, outer: Sequence[int], n: int) -> Expr | None:
    """The first or last index of a band as an expression, which may leave the array if the band is cut."""
    if (end == end.reshape(-1)[0]).all():
        return Expr.constant(int(end.reshape(-1)[0]))
    inside = (end > 0) & (end < n - 1)
    if not inside.any():
        return None
    places = np.argwhere(inside)
    low, high = places.min(0), places.max(0) + 1
    box = end[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    functions = _functions(box)
    if functions is None or any(len(parts) != 1 or parts[0].condition for parts in functions):
        return None
    value = sum((parts[0].value for parts in functions), Expr.constant(int(box.reshape(-1)[0])))
    moved = value.substitute(dims=[Expr.dim(d) - int(a) for d, a in zip(outer, low, strict=True)])
    own = [Expr.dim(d) for d in range(end.ndim)]
    whole = value.substitute(dims=[e - int(a) for e, a in zip(own, low, strict=True)])
    m = IndexingMap(list(end.shape), [whole])
    points = np.indices(end.shape).reshape(end.ndim, -1).T
    if (np.clip(m.evaluate(points).reshape(end.shape), 0, n - 1) != end).any():
        return None
    return moved


def numbers_of(values: Array) -> list[Any]:
    """The elements as numbers of Python: zeros of both signs are one, and so are NaNs of any bits."""
    if values.dtype.kind == "b" or is_integer(values.dtype):
        found: list[Any] = (values.astype(np.int64) if is_packed(values.dtype) else values).reshape(-1).tolist()
        return found
    return [math.nan if math.isnan(x) else x + 0.0 for x in values.astype(np.float64).reshape(-1).tolist()]


def _affine_steps(values: Array) -> list[int] | None:
    """The step along each dimension if the elements are an affine function of their index; else None."""
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
        if steps:
            while end < len(row) and row[end] == row[end - 1] + step:
                end += 1
        else:
            while end < len(row) and (row[end] is first or row[end] == first):
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
    """By how much each number of each run moves; None if the rows differ otherwise."""
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
