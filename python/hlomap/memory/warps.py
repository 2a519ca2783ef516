"""The addresses that the lanes of warps access, as a map from lanes, steps and coordinates of requests.

:func:`warp_addresses` is the entry point.  The dims of the result are lane, step, warp, the blocks along x, y and z,
and the ranges of the accesses in order, the last of them counted in groups of steps.  Runtime values are taken away:
what their values could change is in the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm, prod

from .._core import Expr, IndexingMap, Shape, linear_index
from .regions import LANE, STEP, nodes, shifts
from .requests import RequestForm

__all__ = ["WarpAddresses", "warp_addresses"]

_BLOCK = 3
"""The first three dims of a thread map are those of a thread in its block, the others those of the block."""


@dataclass(frozen=True)
class WarpAddresses:
    """The addresses of an array that a grid accesses."""

    grid: IndexingMap
    """From lane, step and coordinates to the unit in memory."""
    form: RequestForm
    offsets: tuple[int, ...]
    """Where the array may begin, in units from a sector."""
    reason: str | None
    """Why the counts are upper bounds, if they are."""


def warp_addresses(
    elements: IndexingMap, shape: Shape, n_lanes: int, vector: int, base_alignment: int, sector_bytes: int
) -> WarpAddresses:
    """The addresses of the elements of ``shape`` that a map leads to, whose dims are those of a thread map."""
    whole_bytes = shape.element_bits % 8 == 0
    position = linear_index(shape, unit="byte" if whole_bytes else "bit")
    per_byte = 1 if whole_bytes else 8
    form = RequestForm(shape.element_bits * per_byte // 8, per_byte, sector_bytes, vector)
    grid, values = _by_lanes(elements.then(position), n_lanes, vector)
    try:
        taken = _take_runtime(grid, values, form)
    except OverflowError:
        taken = _Taken(_apart(grid, values, form), "a runtime value moves addresses beyond 64 bits", one_by_one=True)

    base = lcm(base_alignment * per_byte, form.width & -form.width)
    common = gcd(base, taken.common_step)
    known_alignment = gcd(common, taken.varying_step)
    if taken.one_by_one or known_alignment % (vector * form.width):
        vector = 1  # no request of several elements is known to be aligned and whole
    loosest = gcd(taken.varying_step, form.sector)
    form = RequestForm(form.width, per_byte, sector_bytes, vector, loosest % form.sector)
    offsets = range(0, form.sector, gcd(common, form.sector))
    return WarpAddresses(taken.grid, form, tuple(offsets), taken.reason)


@dataclass(frozen=True)
class _Runtime:
    """A runtime value, as a dim of the grid."""

    dim: int
    is_known: bool
    """Whether the place of the value in memory is known."""
    index: tuple[Expr, ...]
    """That place, over the other dims."""


def _by_lanes(m: IndexingMap, n_lanes: int, vector: int) -> tuple[IndexingMap, list[_Runtime]]:
    """The map over lane, step and coordinates, then the runtime values as the last dims."""
    sizes = [v.upper + 1 for v in m.dims]
    threads = prod(sizes[:_BLOCK])
    box = [(0, n_lanes - 1), (0, 0), (0, -(-threads // n_lanes) - 1), *((v.lower, v.upper) for v in m.dims[_BLOCK:])]
    thread = Expr.dim(2) * n_lanes + Expr.dim(LANE)
    conditions: list[tuple[Expr, int, int]] = [(thread, 0, threads - 1)]
    places = [thread % sizes[0], thread // sizes[0] % sizes[1], thread // (sizes[0] * sizes[1])]
    conditions += [(e, v.lower, v.upper) for e, v in zip(places, m.dims[:_BLOCK], strict=True) if v.lower]
    dims = [*places, *(Expr.dim(2 + k) for k in range(1, _BLOCK + 1))]

    ranges: list[Expr] = []
    last = max((k for k, v in enumerate(m.ranges) if v.upper > v.lower), default=-1)
    for k, v in enumerate(m.ranges):
        n = len(box)
        if vector > 1 and k == last:
            box[STEP] = (0, vector - 1)
            box.append((0, (v.upper - v.lower) // vector))
            ranges.append(Expr.dim(n) * vector + Expr.dim(STEP) + v.lower)
            conditions.append((ranges[-1], v.lower, v.upper))
        else:
            box.append((v.lower, v.upper))
            ranges.append(Expr.dim(n))
    runtime = [Expr.dim(len(box) + k) for k in range(len(m.runtime))]
    box += [(v.lower, v.upper) for v in m.runtime]

    def put(e: Expr) -> Expr:
        return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

    conditions += [(put(c.expr), c.lower, c.upper) for c in m.constraints]
    found = [put(m.results[0]), *(put(e) for v in m.runtime for e in v.index)]
    grid = IndexingMap(box, found, constraints=conditions).simplify(keep_point_dims=True)
    values, first = [], 1
    for k, v in enumerate(m.runtime):
        index = grid.results[first : first + len(v.index)]
        values.append(_Runtime(len(box) - len(m.runtime) + k, v.source is not None, tuple(index)))
        first += len(v.index)
    return grid, values


@dataclass(frozen=True)
class _Taken:
    """A grid without runtime values, and what they do to its addresses."""

    grid: IndexingMap
    reason: str | None = None
    common_step: int = 0
    """The values that all requests share move addresses by multiples of this; 0 where they do not move them."""
    varying_step: int = 0
    """The same of values that differ between requests."""
    one_by_one: bool = False
    """Whether no request of several elements may be assumed."""


def _take_runtime(grid: IndexingMap, values: list[_Runtime], form: RequestForm) -> _Taken:
    """The grid with the least runtime values, and lanes kept apart that have different ones."""
    reason = None
    period = lcm(form.sector, form.vector * form.width)
    dims = {value.dim for value in values}
    conditional = any(dims & _dims(c.expr) for c in grid.constraints)
    if conditional:
        reason = "a condition depends on a runtime value: its lanes count as active"
    common = varying = 0
    apart: list[Expr] = []
    moves = shifts(grid.results[0]) if values else {}
    for value in values:
        move = moves.get(value.dim, 0)
        if move == 0:
            continue
        if move is None:
            return _Taken(_apart(grid, values, form), "addresses depend on a runtime value", one_by_one=True)
        read_at = {d for e in value.index for d in _dims(e)}
        if not value.is_known or read_at & dims:
            return _Taken(_apart(grid, values, form), "each lane may have another runtime value", one_by_one=True)
        if read_at & {LANE, STEP}:
            apart += value.index
            reason = reason or "lanes may have different runtime values"
        if move % period:
            reason = reason or "runtime values move addresses within a sector"
            common, varying = (gcd(common, move), varying) if not read_at else (common, gcd(varying, move))
    return _Taken(_at_least_values(grid, values, _spread(grid, apart, period)), reason, common, varying, conditional)


def _dims(e: Expr) -> set[int]:
    return {node.value for node in nodes(e) if node.kind == "dim" and node.value is not None}


def _spread(grid: IndexingMap, apart: list[Expr], period: int) -> Expr:
    """The addresses, moved so far that lanes where ``apart`` differ share nothing."""
    address = grid.results[0]
    low, high = grid.bounds(0)
    distance = ((high - low) // period + 2) * period
    for e in dict.fromkeys(apart):
        if e.kind == "constant":
            continue
        least, greatest = grid.bounds(e)
        address = address + (e - least) * distance
        distance *= greatest - least + 1
    return address


def _apart(grid: IndexingMap, values: list[_Runtime], form: RequestForm) -> IndexingMap:
    """The grid with an address of its own for each lane and step."""
    n_steps = grid.dims[STEP].upper + 1
    place = (Expr.dim(LANE) * n_steps + Expr.dim(STEP)) * (4 * form.sector)
    straddles = form.sector % form.width != 0
    return _at_least_values(grid, values, place + (form.sector - 1 if straddles else 0))


def _at_least_values(grid: IndexingMap, values: list[_Runtime], address: Expr) -> IndexingMap:
    """The grid with this address, without runtime values and conditions on them."""
    if not values:
        return IndexingMap(grid.dims, [address], constraints=grid.constraints)
    dims = {value.dim for value in values}
    n = len(grid.dims) - len(values)
    least = [*(Expr.dim(k) for k in range(n)), *(Expr.constant(v.lower) for v in grid.dims[n:])]
    kept = [c for c in grid.constraints if not dims & _dims(c.expr)]
    return IndexingMap(grid.dims[:n], [address.substitute(dims=least)], constraints=kept)
