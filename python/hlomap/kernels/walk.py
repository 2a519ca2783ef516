"""What the steps of a grid reach of one operand: how many elements, how often, and which they miss.

:class:`Walk` is the entry point.  Results of an index map that depend on different dims of the grid are independent of
each other, so the array is a product of *parts*: each part has some of the results and the dims that they depend on.
Numbers of parts are multiplied; ``lower <= true number <= upper`` for each.  The maps of a part answer first; what they
leave open is counted step by step if the part has few steps, which may be all steps of a grid with one dim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

from .._core import Constraint, Count, Expr, IndexingMap
from ..base.answers import Answer
from ..base.lazy import np, npt
from ..errors import HlomapError
from ..maps.enumerate_pairs import read_runtime
from ..maps.map_set import MapSet
from ..maps.set_questions import CommonElement, MapPoint
from ..maps.union_count import UNBOUNDED
from ..maps.variables import numbers_of
from .block_specs import Block

_MAX_STEPS = 1 << 20
"""The most steps of a part to count one by one: some tenths of a second."""

Ints = npt.NDArray[np.int64]


class Span(NamedTuple):
    """A number between two bounds."""

    lower: int
    upper: int

    def times(self, other: Span | int) -> Span:
        """The product of two numbers of 0 or more."""
        low, high = other if isinstance(other, Span) else (other, other)
        return Span(self.lower * low, self.upper * high)

    def plus(self, other: Span) -> Span:
        """The sum."""
        return Span(self.lower + other.lower, self.upper + other.upper)

    def minus(self, other: Span) -> Span:
        """The difference, which is 0 or more."""
        return Span(max(0, self.lower - other.upper), self.upper - other.lower)

    def as_count(self) -> Count:
        """The number as results have it."""
        return Count(min(self.lower, UNBOUNDED), min(self.upper, UNBOUNDED))

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper


def exactly(n: int) -> Span:
    """A known number."""
    return Span(n, n)


def _span(count: Count) -> Span:
    return Span(count.lower, count.upper)


def _within(known: Span, count: Count) -> Span:
    """A number with two pairs of bounds."""
    return Span(max(known.lower, count.lower), min(known.upper, count.upper))


class Walk:
    """An operand and the steps that see its blocks; ``values`` are the prefetched arrays by number."""

    def __init__(self, block: Block, values: Mapping[int, Any]) -> None:
        self.block: Block = block
        self.grid: list[int] = [v.upper + 1 for v in block.index_map.dims]
        self.n_steps: int = prod(self.grid)
        self.parts: list[_Part] = [_Part(self, numbers, dims, values) for numbers, dims in _split(block.index_map)]
        used = {i for part in self.parts for i in part.dims}
        self._unused = [i for i in range(len(self.grid)) if i not in used]

    @cached_property
    def reads(self) -> Span:
        """The elements of all blocks of all steps."""
        return self._product([part.reads for part in self.parts], self._unused)

    @cached_property
    def distinct(self) -> Span:
        """The elements that some block has."""
        return self._product([part.distinct for part in self.parts])

    @cached_property
    def n_blocks(self) -> Span:
        """The different blocks."""
        return self._product([part.n_blocks for part in self.parts])

    @cached_property
    def most(self) -> Span:
        """The most steps that have one element."""
        found = self._product([part.most for part in self.parts], self._unused)
        if not self.distinct.upper:
            return exactly(0)
        least = -(-self.reads.lower // self.distinct.upper)
        return Span(max(least, found.lower), min(self.n_steps, found.upper))

    @cached_property
    def kept(self) -> tuple[Span, Span]:
        """The steps that have the block of the step before, and the elements of these blocks."""
        steps, elements = exactly(0), exactly(0)
        for k, size in enumerate(self.grid):
            if size > 1 and self.n_steps:
                others = prod(self.grid[i] - (i == k) for i in self._unused if i <= k)
                found = [part.kept(k) for part in self.parts]
                own, of_own = exactly(others), exactly(others)
                for n_steps, n_elements in found:
                    own, of_own = own.times(n_steps), of_own.times(n_elements)
                steps, elements = steps.plus(own), elements.plus(of_own)
        return steps, elements

    def _product(self, factors: Sequence[Span], dims: Sequence[int] = ()) -> Span:
        found = exactly(prod(self.grid[i] for i in dims) if self.n_steps else 0)
        for factor in factors:
            found = found.times(factor)
        return found

    @cached_property
    def in_bounds(self) -> Answer[tuple[int, ...]]:
        """Whether all blocks have elements of the array; the witness is a step whose block has none."""
        answers = [part.in_bounds for part in self.parts] if self.n_steps and self.block.shape.n_elements else []
        return min(answers, key=lambda answer: (False, None, True).index(answer.value), default=Answer(True))

    @cached_property
    def covers(self) -> Answer[tuple[int, ...]]:
        """Whether some block has each element; the witness is an element that none has."""
        n = self.block.shape.n_elements
        if self.distinct.lower == n:
            return Answer(True)
        if not self.n_steps:
            return Answer(False, (0,) * len(self.block.sizes))
        for part in self.parts:
            missing = part.find_missing()
            if missing is not None:
                element = [0] * len(self.block.sizes)
                for k, value in zip(part.results, missing, strict=True):
                    element[k] = value
                return Answer(False, tuple(element))
        if self.distinct.upper < n:
            return Answer(False, reason=f"blocks have at most {self.distinct.upper} of {n} elements")
        return Answer(None, reason=self._why("the blocks are not known to cover the array"))

    def written_once(self, n_written: Span, steps: str) -> Answer[CommonElement]:
        """Whether each element that is written is written once, given the number of writes; ``steps`` names them."""
        if n_written.exact and self.distinct.exact and n_written == self.distinct:
            return Answer(True)
        if n_written.lower > self.distinct.upper:
            return Answer(False, reason=f"{n_written.lower} {steps} of at most {self.distinct.upper} elements")
        return Answer(None, reason=self._why(f"the {steps} of each element are not counted"))

    def find_common(self, maps: MapSet) -> CommonElement | None:
        """An element that two points of maps from steps to elements reach, without the positions in the blocks."""
        m = self.block.index_map
        found = maps.is_injective().witness
        if found is None:
            return None
        first, second = (MapPoint(m, point.dims, (), point.runtime) for point in found[1:])
        return CommonElement(found.element, first, second)

    def all_writes(self) -> MapSet:
        """From each step to the elements of its block."""
        return MapSet([self.block.element_map()])

    def changes(self) -> MapSet:
        """From each step whose block is not that of the step before to the elements of its block."""
        own, m = self.block.element_map(), self.block.index_map
        first = own.restrict(dict.fromkeys(range(len(self.grid)), (0, 0)))
        maps = [first]
        for k in range(len(self.grid)):
            if self.grid[k] < 2:
                continue
            later = dict.fromkeys(range(k + 1, len(self.grid)), (0, 0))
            starts = own.restrict({k: (1, self.grid[k] - 1), **later})
            before = [Expr.dim(i) if i < k else Expr.dim(k) - 1 for i in range(k + 1)]
            before += [Expr.constant(n - 1) for n in self.grid[k + 1 :]]
            same: list[tuple[Expr, int, int]] = []
            for e in m.results:
                change = e - e.substitute(dims=before)
                for low, high in ((1, _FAR), (-_FAR, -1)):
                    conditions: list[Constraint | tuple[Expr, int, int]] = [*starts.constraints, *same]
                    conditions.append((change, low, high))
                    piece = IndexingMap(starts.dims, starts.results, ranges=starts.ranges, constraints=conditions)
                    if not piece.simplify().is_known_empty:
                        maps.append(piece)
                same.append((change, 0, 0))
        return MapSet(maps)

    def _why(self, otherwise: str) -> str:
        if any(part.is_open for part in self.parts):
            return "the blocks depend on prefetched values"
        return otherwise


_FAR = 1 << 62


def _split(m: IndexingMap) -> list[tuple[list[int], list[int]]]:
    """The numbers of results that depend on each other, by dims or runtime variables, with their dims."""
    uses: list[tuple[list[int], set[tuple[str, int]]]] = []
    for k, e in enumerate(m.results):
        own = _variables(m, e)
        together = [group for group in uses if group[1] & own]
        numbers = [k]
        for group in together:
            uses.remove(group)
            numbers, own = group[0] + numbers, own | group[1]
        uses.append((sorted(numbers), own))
    return [(numbers, sorted(i for kind, i in own if kind == "dim")) for numbers, own in uses]


def _variables(m: IndexingMap, e: Expr) -> set[tuple[str, int]]:
    found = {("dim", i) for i in numbers_of(e, "dim")}
    for i in numbers_of(e, "runtime"):
        found.add(("runtime", i))
        for at in m.runtime[i].element:
            found |= _variables(m, at)
    return found


def _distinct(table: Ints) -> tuple[Ints, Ints]:
    """The distinct rows, and how often each occurs."""
    least = table.min(axis=0, initial=_FAR)
    extents = [int(n) + 1 for n in (table.max(axis=0, initial=-_FAR) - least).tolist()] if len(table) else []
    if not len(table) or prod(extents) >= _FAR:
        rows, counts = np.unique(table, axis=0, return_counts=True)
        return rows, counts
    if not extents:
        return table[:1], np.array([len(table)], np.int64)
    numbers = np.ravel_multi_index(tuple((table - least).T), extents)  # sorting numbers is faster than sorting rows
    _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    return table[first], counts


class _Part:
    """Some results of the index map, and the dims that they depend on; other dims have the value 0."""

    def __init__(self, walk: Walk, results: list[int], dims: list[int], values: Mapping[int, Any]) -> None:
        self._walk, self.results, self.dims, self._values = walk, results, dims, values
        self._block, self._whole = walk.block, walk.block.index_map
        self._grid = [n if i in dims else min(n, 1) for i, n in enumerate(walk.grid)]
        self._n_steps = prod(self._grid)
        has_runtime = any(numbers_of(self._whole.results[k], "runtime") for k in results)
        self._runtime = self._whole.runtime if has_runtime else ()
        self._sizes = [self._block.sizes[k] for k in results]
        self._n = [self._block.shape.dimensions[k] for k in results]
        self._allowed = [self._block.allowed(k) for k in results]
        self._is_blocked = all(self._block.padding[k] is None for k in results)
        self._map = self._mapped(self._index)
        self.is_open = has_runtime and any(v.source not in values for v in self._runtime)

    @property
    def _index(self) -> list[Expr]:
        return [self._whole.results[k] for k in self.results]

    def _mapped(
        self,
        results: Sequence[Expr],
        conditions: Sequence[tuple[Expr, int, int]] = (),
        dims: Sequence[int | tuple[int, int]] | None = None,
        *,
        in_blocks: bool = False,
    ) -> IndexingMap:
        """A map from the steps; with ``in_blocks`` to the elements of their blocks, with these results first."""
        ranges: list[int] = []
        results, conditions = list(results), list(conditions)
        if in_blocks:
            ranges = self._sizes
            for i, k in enumerate(self.results):
                e = self._block.start(k) + Expr.range(i)
                results.append(e)
                conditions.append((e, 0, self._n[i] - 1))
        own = self._grid if dims is None else dims
        return IndexingMap(own, results, ranges=ranges, runtime=self._runtime, constraints=conditions)

    # Counting step by step.

    @cached_property
    def _table(self) -> Ints | None:
        """The index of the block of each step, a row each; None if there are too many steps, or unknown values."""
        if self._n_steps > _MAX_STEPS or self.is_open:
            return None
        at = self._points
        try:
            runtime = read_runtime(self._map, at, np.zeros((len(at), 0), np.int64), self._values)
            return self._map.evaluate(at, np.zeros((len(at), 0), np.int64), runtime, check=False)
        except (HlomapError, OverflowError):
            return None

    @property
    def _points(self) -> Ints:
        axes = np.unravel_index(np.arange(self._n_steps), self._grid) if self._grid else ()
        return np.stack(axes, axis=1).astype(np.int64) if axes else np.zeros((1, 0), np.int64)

    def _inside(self, table: Ints) -> npt.NDArray[np.bool_]:
        low, high = np.array(self._allowed, np.int64).reshape(-1, 2).T
        inside = (low <= table) & (table <= high)
        return np.asarray(inside.all(axis=1))

    def _ends(self, table: Ints) -> tuple[Ints, Ints]:
        """The elements where each block begins and ends in each dimension, cut to the array."""
        units = np.array([self._block.units[k] for k in self.results], np.int64)
        before = np.array([(self._block.padding[k] or (0, 0))[0] for k in self.results], np.int64)
        start = table * units - before
        n = np.array(self._n, np.int64)
        first = np.clip(start, 0, n)
        return first, np.maximum(np.minimum(start + np.array(self._sizes, np.int64), n), first)

    def _n_elements(self, table: Ints) -> int:
        first, end = self._ends(table)
        fits = prod(self._sizes) * max(1, len(table)) < 1 << 63
        return int((end - first).astype(np.int64 if fits else object).prod(axis=1).sum())

    def _line(self) -> tuple[Ints, Ints] | None:
        """The points between which the same number of steps have each element, in an array of one dimension."""
        if self._table is None or len(self.results) != 1:
            return None
        first, end = (side[:, 0] for side in self._ends(self._table))
        ends, which = np.unique(np.concatenate([first, end]), return_inverse=True)
        change = np.zeros(len(ends), np.int64)
        np.add.at(change, which.reshape(-1), np.repeat([1, -1], len(first)))
        return ends, np.cumsum(change)

    # Numbers of elements and blocks.

    @cached_property
    def reads(self) -> Span:
        """The elements of the blocks of all steps."""
        if not self._n_steps:
            return exactly(0)
        most = self._n_steps * prod(self._sizes)
        if all(self._is_whole(k, n) for k, n in zip(self.results, self._n, strict=True)):
            return exactly(most)
        found = _within(Span(0, most), self._mapped([], in_blocks=True).count())
        if not found.exact and self._table is not None:
            return exactly(self._n_elements(self._table))
        return found

    def _is_whole(self, k: int, n: int) -> bool:
        """Whether blocks are known to lie within the array in dimension k, which has n elements."""
        try:
            least, greatest = self._map.bounds(self._block.start(k))
        except OverflowError:
            return False
        return least >= 0 and greatest + self._block.sizes[k] <= n

    @cached_property
    def distinct(self) -> Span:
        """The elements that some block has."""
        if not self._n_steps:
            return exactly(0)
        most = Span(0, min(self.reads.upper, prod(self._n)))
        found = most
        if not self._runtime:
            found = _within(most, self._mapped([], in_blocks=True).count(distinct=True))
        if found.exact or self._table is None:
            return found
        if self._is_blocked:
            return exactly(self._n_elements(_distinct(self._table)[0]))
        line = self._line()
        if line is None:
            return found
        ends, n_steps = line
        return exactly(int((np.diff(ends) * (n_steps[:-1] > 0)).sum()))

    @cached_property
    def n_blocks(self) -> Span:
        """The different blocks."""
        found = Span(min(1, self._n_steps), self._n_steps)
        if not self._runtime and self._n_steps:
            found = _within(found, self._map.count(distinct=True))
        if found.exact or self._table is None:
            return found
        return exactly(len(_distinct(self._table)[0]))

    @cached_property
    def most(self) -> Span:
        """The most steps that have one element; the lower bound is that of an average element."""
        if not self.reads.upper:
            return exactly(0)
        least = -(-self.reads.lower // max(1, self.distinct.upper))
        if self._n_steps == 1:
            return Span(least, 1)
        if not self._runtime:
            if self.reads.exact and self.reads == self.distinct:
                return exactly(1)
            if self._inside_map().is_injective().value is True:
                return Span(least, 1)
        table = self._table
        if table is not None and self._is_blocked:
            inside = table[self._inside(table)]
            return exactly(int(_distinct(inside)[1].max(initial=0)))
        line = self._line()
        return exactly(int(line[1].max(initial=0))) if line is not None else Span(least, self._n_steps)

    def _inside_map(self) -> IndexingMap:
        """The map whose points are the steps that have an element: to blocks if they are disjoint, else to elements."""
        if not self._is_blocked:
            return self._mapped([], in_blocks=True)
        inside = [(e, *allowed) for e, allowed in zip(self._index, self._allowed, strict=True)]
        return self._mapped(self._index, inside)

    def kept(self, k: int) -> tuple[Span, Span]:
        """Of the steps in which dim k changes, and no dim before it: those that have the block of the step before, and
        the elements of their blocks."""
        if all(i < k for i in self.dims):
            return exactly(self._n_steps), self.reads
        dims: list[int | tuple[int, int]] = [n if i < k else (0, 0) for i, n in enumerate(self._grid)]
        before: list[Expr] = [Expr.dim(i) for i in range(k)]
        before += [Expr.constant(n - 1) for n in self._grid[k:]]
        if k in self.dims:
            dims[k] = (1, self._grid[k] - 1)
            before[k] = Expr.dim(k) - 1
        n_all = prod(self._grid[:k]) * (self._grid[k] - 1 if k in self.dims else 1)
        n_steps, n_elements = Span(0, n_all), Span(0, min(n_all * prod(self._sizes), self.reads.upper))
        if not self._runtime:
            same = [(e - e.substitute(dims=before), 0, 0) for e in self._index]
            n_steps = _within(n_steps, self._mapped([], same, dims).count())
            n_elements = _within(n_elements, self._mapped([], same, dims, in_blocks=True).count())
        table = self._table
        if (n_steps.exact and n_elements.exact) or table is None:
            return n_steps, n_elements
        rows = np.arange(self._n_steps).reshape(self._grid)
        rows = rows.reshape(*self._grid[: k + 1], -1)  # the dims after k begin again
        firsts, lasts = (rows[..., i].reshape(-1, self._grid[k]) for i in (0, -1))
        if k in self.dims:
            firsts, lasts = firsts[:, 1:], lasts[:, :-1]
        here, there = firsts.reshape(-1), lasts.reshape(-1)
        is_same = (table[here] == table[there]).all(axis=1)
        return exactly(int(is_same.sum())), exactly(self._n_elements(table[here[is_same]]))

    # Questions with witnesses.

    @cached_property
    def in_bounds(self) -> Answer[tuple[int, ...]]:
        """Whether all blocks have elements of the array, or are within the padding; the witness is a step."""
        is_open = False
        for e, (low, high) in zip(self._index, self._allowed, strict=True):
            try:
                least, greatest = self._map.bounds(e)
            except OverflowError:
                least, greatest = -_FAR, _FAR
            if low <= least and greatest <= high:
                continue
            if self._runtime:
                is_open = True
                continue
            for outside in ((least, low - 1), (high + 1, greatest)):
                if outside[0] <= outside[1]:
                    m = self._mapped(self._index, [(e, *outside)])
                    found = m.overlap(m)
                    if found.witness is not None:
                        return Answer(False, found.witness.first.dims)
                    is_open = is_open or found.value is None
        if not is_open:
            return Answer(True)
        if self._table is None:
            reason = "the blocks depend on prefetched values" if self.is_open else "the bounds are not decided"
            return Answer(None, reason=reason)
        outside_rows = np.flatnonzero(~self._inside(self._table))
        if not len(outside_rows):
            return Answer(True)
        return Answer(False, tuple(self._points[outside_rows[0]].tolist()))

    def find_missing(self) -> tuple[int, ...] | None:
        """An element of this part's dimensions that no block has, if one is found."""
        if self.distinct.lower == prod(self._n) or 0 in self._n:
            return None
        n_blocks = [high + 1 for _, high in self._allowed] if self._is_blocked else self._n
        if not self._runtime:
            all_of_them = IndexingMap([], [Expr.range(i) for i in range(len(n_blocks))], ranges=n_blocks)
            reached = self._map.image() if self._is_blocked else self._mapped([], in_blocks=True).image()
            found = reached.covers(all_of_them)
            if found.witness is not None:
                return self._first(found.witness.element)
        if self._table is None:
            return None
        if self._is_blocked and prod(n_blocks) <= _MAX_STEPS:
            is_reached = np.zeros(n_blocks, np.bool_)
            is_reached[tuple(self._table[self._inside(self._table)].T)] = True
            missing = np.argwhere(~is_reached)
            return self._first(missing[0].tolist()) if len(missing) else None
        line = self._line()
        if line is None:
            return None
        ends, n_steps = line
        gaps = [0] if ends[0] > 0 else ends[:-1][n_steps[:-1] == 0].tolist()
        if not gaps and ends[-1] < self._n[0]:
            gaps = [int(ends[-1])]
        return (gaps[0],) if gaps else None

    def _first(self, index: Sequence[int]) -> tuple[int, ...]:
        """The first element of a block, or the element itself."""
        if not self._is_blocked:
            return tuple(index)
        return tuple(i * self._block.units[k] for i, k in zip(index, self.results, strict=True))
