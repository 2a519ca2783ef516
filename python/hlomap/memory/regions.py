"""Totals over a whole grid, from few of its requests.

:func:`count_grid` is the entry point.  A grid is a box of coordinates, of which the first two are the lane and the
step of a request.  Coordinates that only move the address are not enumerated with the lanes: the residues modulo a
sector of what they add are counted instead.  Other coordinates are written as digits where remainders wrap, and cut
where conditions change, until few requests are left.  Law: the totals are those of all requests, or upper bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, lcm, prod
from typing import TypeAlias

import numpy as np

from .._core import Expr, IndexingMap
from .requests import Bools, Counts, Ints, RequestForm, count_requests

__all__ = ["LANE", "STEP", "GridCounts", "count_grid", "nodes", "shifts"]

LANE, STEP = 0, 1
"""The dims of a grid that are not coordinates of requests."""

_MAX_REGIONS = 1024
_MAX_POINTS = 1 << 22
_FEW_POINTS = 1 << 12  # take less time than a region
_MANY_POINTS = 1 << 15  # take more time than the regions that cuts leave
_CHUNK = 1 << 17

Box: TypeAlias = list[tuple[int, int]]


@dataclass
class GridCounts:
    """The totals for each offset of the base address, and whether they are exact."""

    by_offset: list[Counts]
    exact: bool = True


@dataclass
class _Work:
    """What is left to do, and what may still be spent."""

    form: RequestForm
    offsets: Sequence[int]
    found: GridCounts
    regions: list[IndexingMap]
    n_regions: int = 0
    n_points: int = 0
    period: int = field(init=False)

    def __post_init__(self) -> None:
        self.period = lcm(self.form.sector, self.form.vector * self.form.width)


def count_grid(grid: IndexingMap, form: RequestForm, offsets: Sequence[int]) -> GridCounts:
    """The totals of all requests of a grid, for each of the ``offsets`` of the base address.

    ``grid`` maps the lane, the step and the coordinates of a request to an address in units; it has dims alone.

    >>> grid = IndexingMap.parse("(l, j, b) -> (l * 4 + b * 128), domain: l in [0, 31], j in [0, 0], b in [0, 99]")
    >>> count_grid(grid, RequestForm(4, 1, 32, 1), [0]).by_offset
    [Counts(requests=100, sectors=400, bytes_used=12800, longest_run=128)]
    """
    work = _Work(form, offsets, GridCounts([Counts() for _ in offsets]), [grid])
    while work.regions:
        region = work.regions.pop().simplify(keep_point_dims=True)
        work.n_regions += 1
        if not region.is_known_empty:
            _count_region(region, work)
    return work.found


def _count_region(region: IndexingMap, work: _Work) -> None:
    """Counts one region, or leaves smaller ones to do."""
    strides, lanes, apart = _separated(region)
    extents = _extents(region)
    listed = [*lanes, *(k for group in apart for k in group)]
    n_points = sum(prod(extents[k] for k in group) for group in ([LANE, STEP, *lanes], *apart))
    if n_points > _FEW_POINTS and work.n_regions < _MAX_REGIONS:
        smaller = _as_digits(region, listed) or (_cut(region, listed) if n_points > _MANY_POINTS else [])
        if smaller:
            work.regions += smaller
            return
    if work.n_points + n_points > _MAX_POINTS or _too_wide(region):
        work.found.exact = False
        most = _most(region, work.form)
        work.found.by_offset = [counts.plus(most) for counts in work.found.by_offset]
        return
    work.n_points += n_points
    residues = _residues([(strides[k], extents[k]) for k in strides], work.period)
    for group in apart:
        residues = _sums(residues, _residues_of_group(region, group, work.period), work.period)
    needed = sorted({(offset + r) % work.period for offset in work.offsets for r in residues})
    by_offset = dict.fromkeys(needed, Counts())
    for address, active in _addresses(region, lanes, LANE, STEP):
        for offset in needed:
            by_offset[offset] = by_offset[offset].plus(count_requests(address, active, work.form, offset))
    for k, offset in enumerate(work.offsets):
        for r, times in residues.items():
            found = work.found.by_offset[k]
            work.found.by_offset[k] = found.plus(by_offset[(offset + r) % work.period], times)


def _extents(region: IndexingMap) -> list[int]:
    return [v.upper - v.lower + 1 for v in region.dims]


def _too_wide(region: IndexingMap) -> bool:
    """Whether addresses come close to the end of 64 bits."""
    low, high = region.bounds(0)
    return low < -(1 << 61) or high > 1 << 61


# ------------------------------------------------------------------------------------------------ free coordinates


def _separated(region: IndexingMap) -> tuple[dict[int, int], list[int], list[list[int]]]:
    """The coordinates by what they do: those that add a multiple of themselves to the address, with the factor; those
    that change how the addresses of lanes differ, or which lanes are active; and groups of others.

    No summand of the address and no condition has coordinates of two groups, or of a group and the lanes.
    """
    terms = [shifts(term) for term in _terms(region.results[0])]
    conditions = [shifts(c.expr) for c in region.constraints]
    strides: dict[int, int] = {}
    groups: list[set[int]] = [{LANE, STEP}]
    for k in range(STEP + 1, len(region.dims)):
        moves = [term[k] for term in terms if k in term]
        known = [move for move in moves if move is not None]
        if len(known) < len(moves) or any(k in condition for condition in conditions):
            groups.append({k})
        else:
            strides[k] = sum(known)
    for used in (*terms, *conditions):
        together = [group for group in groups if not group.isdisjoint(used)]
        if len(together) > 1:
            groups = [set().union(*together), *(group for group in groups if group not in together)]
    lanes = next(group for group in groups if LANE in group)
    return strides, sorted(lanes - {LANE, STEP}), [sorted(group) for group in groups if group is not lanes]


def _terms(e: Expr) -> Iterator[Expr]:
    """The summands of an expression."""
    if e.kind != "sum":
        yield e
        return
    for part in e.operands:
        yield from _terms(part)


def shifts(e: Expr) -> dict[int, int | None]:
    """What one step of each dim adds to an expression everywhere; None where that differs or is not seen.

    Dims whose steps add nothing are left out.

    >>> shifts(Expr.parse("(d0 + d1 * 6) mod 3 + d1 * 2")), shifts(Expr.parse("d1 floordiv 2"))
    ({0: None, 1: 2}, {1: None})
    """
    kind = e.kind
    if kind == "dim":
        assert e.value is not None
        return {e.value: 1}
    if kind in ("constant", "range", "runtime"):
        return {}
    operands = e.operands
    parts = [shifts(part) for part in operands]
    factor = operands[1].value if kind in _BY_FACTOR and operands[1].kind == "constant" else None
    found = {dim: _shift(kind, [part.get(dim, 0) for part in parts], factor) for part in parts for dim in part}
    return {dim: move for dim, move in found.items() if move != 0}


_BY_FACTOR = ("product", "floordiv", "mod")


def _shift(kind: str, parts: Sequence[int | None], factor: int | None) -> int | None:
    """What a step adds to an expression that adds ``parts`` to its operands, of which the last may be a constant."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if kind == "sum":
        return sum(known)
    if kind in ("min", "max"):
        return known[0] if known[0] == known[1] else None
    if factor is None:
        return None
    if kind == "product":
        return known[0] * factor
    if known[0] % factor:
        return None
    return known[0] // factor if kind == "floordiv" else 0


def _residues(strides: Sequence[tuple[int, int]], period: int) -> dict[int, int]:
    """How often each residue modulo ``period`` occurs among the sums of multiples: of (stride, number of values).

    >>> sorted(_residues([(4, 5), (8, 2)], 16).items())
    [(0, 3), (4, 2), (8, 3), (12, 2)]
    """
    found = {0: 1}
    for stride, n in strides:
        cycle = period // gcd(stride, period)
        times = {stride * i % period: n // cycle + (i < n % cycle) for i in range(min(n, cycle))}
        found = _sums(found, times, period)
    return found


def _sums(first: Mapping[int, int], second: Mapping[int, int], period: int) -> dict[int, int]:
    """How often each residue occurs among the sums of a residue of each side."""
    found: dict[int, int] = {}
    for a, n in first.items():
        for b, m in second.items():
            at = (a + b) % period
            found[at] = found.get(at, 0) + n * m
    return found


def _residues_of_group(region: IndexingMap, group: Sequence[int], period: int) -> dict[int, int]:
    """How often each residue occurs among what the values of coordinates add to the address, where their conditions
    hold."""
    found: Counter[int] = Counter()
    start = None
    for address, active in _addresses(region, group):
        start = address[0] if start is None else start
        found.update(((address[active] - start) % period).tolist())
    return found


# ------------------------------------------------------------------------------------------------- smaller regions


def nodes(e: Expr) -> Iterator[Expr]:
    """An expression and all parts of it."""
    yield e
    if e.kind not in ("constant", "dim", "range", "runtime"):
        for part in e.operands:
            yield from nodes(part)


def _all_nodes(region: IndexingMap) -> list[Expr]:
    exprs = [region.results[0], *(c.expr for c in region.constraints)]
    return list(dict.fromkeys(node for e in exprs for node in nodes(e)))


def _as_digits(region: IndexingMap, listed: Sequence[int]) -> list[IndexingMap]:
    """The region with a coordinate written as two, where a remainder comes back to its beginning; else nothing."""
    divisions = [
        (shifts(node.operands[0]), node.operands[1].value)
        for node in _all_nodes(region)
        if node.kind in ("floordiv", "mod") and node.operands[1].kind == "constant"
    ]
    extents = _extents(region)
    for k in sorted(listed, key=lambda k: -extents[k]):
        lengths = set()
        for moves, divisor in divisions:
            step = moves.get(k)
            if step and divisor:
                lengths.add(divisor // gcd(step, divisor))
        fitting = [n for n in lengths if 1 < n < extents[k]]
        if fitting:
            return [_split_digit(region, k, min(fitting))]
    return []


def _split_digit(region: IndexingMap, k: int, radix: int) -> IndexingMap:
    """Dim ``k`` as its lower bound plus ``radix`` times itself plus a new last dim."""
    n, low = _extents(region)[k], region.dims[k].lower
    n_dims = len(region.dims)
    values = [Expr.dim(i) for i in range(n_dims)]
    values[k] = Expr.dim(k) * radix + Expr.dim(n_dims) + low
    box = [*_box(region), (0, radix - 1)]
    box[k] = (0, (n - 1) // radix)
    constraints = [(c.expr.substitute(dims=values), c.lower, c.upper) for c in region.constraints]
    if n % radix:
        constraints.append((values[k], low, low + n - 1))
    return IndexingMap(box, [region.results[0].substitute(dims=values)], constraints=constraints)


def _box(region: IndexingMap) -> Box:
    return [(v.lower, v.upper) for v in region.dims]


@dataclass(frozen=True)
class _Condition:
    """Decides whether a node has one form: ``expr`` lies between two neighbouring multiples, or beyond bounds."""

    expr: Expr
    period: int
    bounds: tuple[int, int] | None

    def is_decided(self, box: Box) -> bool:
        low, high = IndexingMap(box, [self.expr]).bounds(0)
        if self.bounds is None:
            return low // self.period == high // self.period
        least, greatest = self.bounds
        return high < least or low > greatest or (least <= low and high <= greatest)


def _conditions(region: IndexingMap) -> list[_Condition]:
    found = [_Condition(c.expr, 0, (c.lower, c.upper)) for c in region.constraints]
    for node in _all_nodes(region):
        if node.kind in ("floordiv", "mod") and node.operands[1].kind == "constant":
            found.append(_Condition(node.operands[0], node.operands[1].value or 1, None))
        elif node.kind in ("min", "max"):
            found.append(_Condition(node.operands[0] - node.operands[1], 0, (0, 2**63 - 1)))
    return found


def _cut(region: IndexingMap, listed: Sequence[int]) -> list[IndexingMap]:
    """The region in two parts, in one of which a condition does not change, else in two halves of a coordinate on
    which a condition depends; nothing where there is no such coordinate."""
    box = _box(region)
    extents = _extents(region)
    dims = sorted((k for k in listed if extents[k] > 1), key=lambda k: -extents[k])
    halved = None
    for condition in _conditions(region):
        used = {node.value for node in nodes(condition.expr) if node.kind == "dim"}
        if used.isdisjoint(dims) or condition.is_decided(box):
            continue
        for k in dims:
            at = _cut_point(condition, box, k) if k in used else None
            if at is not None:
                return _parts(region, k, at)
        halved = halved or next(k for k in dims if k in used)
    return _parts(region, halved, sum(box[halved]) // 2 + 1) if halved else []


def _parts(region: IndexingMap, k: int, at: int) -> list[IndexingMap]:
    """The region below a value of a dim, and from there on."""
    low, high = _box(region)[k]
    return [_restricted(region, k, low, at - 1), _restricted(region, k, at, high)]


def _cut_point(condition: _Condition, box: Box, k: int) -> int | None:
    """The first value of a dim after the longest beginning, or of the longest end, in which a condition is decided."""
    low, high = box[k]

    def decided(first: int, last: int) -> bool:
        return condition.is_decided([*box[:k], (first, last), *box[k + 1 :]])

    if decided(low, low):
        return _last_good(low, high, lambda end: decided(low, end))[1]
    if decided(high, high):
        return _last_good(high, low, lambda start: decided(start, high))[0]
    return None


def _last_good(good: int, bad: int, holds: Callable[[int], bool]) -> tuple[int, int]:
    """Neighbours between a value that is good and one that is bad: the last good one and the first bad one."""
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good, bad


def _restricted(region: IndexingMap, k: int, low: int, high: int) -> IndexingMap:
    box = _box(region)
    box[k] = (low, high)
    return IndexingMap(box, region.results, constraints=region.constraints)


# --------------------------------------------------------------------------------------------------------- requests


def _addresses(region: IndexingMap, dims: Sequence[int], *together: int) -> Iterator[tuple[Ints, Bools]]:
    """The addresses ``[n, *sizes]`` at all values of some dims, and where the conditions on these hold; the values of
    the dims ``together`` are in one piece.  Other dims stay at their lower bounds."""
    chosen = {*dims, *together}
    conditions = [c for c in region.constraints if not chosen.isdisjoint(shifts(c.expr))]
    own = IndexingMap(region.dims, region.results, constraints=conditions) if conditions else region
    extents = _extents(region)
    sizes, inner = [extents[k] for k in dims], [extents[k] for k in together]
    per_chunk = max(1, _CHUNK // prod(inner))
    for first in range(0, prod(sizes), per_chunk):
        numbers = np.arange(first, min(first + per_chunk, prod(sizes)))
        points = np.empty((len(numbers), *inner, len(extents)), np.int64)
        points[...] = [v.lower for v in region.dims]
        for k, digit in zip(dims, np.unravel_index(numbers, sizes) if sizes else (), strict=True):
            points[..., k] += digit.reshape(-1, *(1 for _ in inner))
        for axis, k in enumerate(together, 1):
            points[..., k] += np.arange(extents[k]).reshape(-1, *(1 for _ in inner[axis:]))
        flat = points.reshape(-1, len(extents))
        active = own.in_domain(flat) if conditions else np.ones(len(flat), np.bool_)
        yield own.evaluate(flat, check=False)[:, 0].reshape(points.shape[:-1]), active.reshape(points.shape[:-1])


def _most(region: IndexingMap, form: RequestForm) -> Counts:
    """Upper bounds of the totals of a region."""
    n_lanes, n_steps, *coordinates = _extents(region)
    n = prod(coordinates) * n_steps
    bytes_each = -(-form.width // form.per_byte) + (form.width % form.per_byte > 0)
    aligned = form.sector % form.width == 0 and form.per_byte == 1
    per_request = n_lanes * (1 if aligned else 2 + bytes_each // form.sector_bytes)
    stride = shifts(region.results[0]).get(LANE, 0)
    if stride is not None:
        span = abs(stride) * (n_lanes - 1) + form.width
        per_request = min(per_request, span // form.sector + 2)
    run = n_lanes * bytes_each * n_steps
    return Counts(n, n * per_request, n * n_lanes * bytes_each, run)
