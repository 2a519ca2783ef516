"""How often the maps of an operand read each of some elements, without a walk over all of them.

Read :class:`ReadCounts` first.  Law: a map splits into parts that share no variables, and the number of points that
reach an element is the product of the counts of the parts.  A part is enumerated, or solved for a variable in which its
only result is linear; a map with a larger part is inverted, or not counted.  Runtime variables take all their values,
so the counts tell what may be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import Expr, IndexingMap, Variable
from ..answers import Unknown
from ..errors import HlomapError
from ..maps.variables import variables_of

Bounds = Sequence[tuple[int, int]]
Points = npt.NDArray[np.int64]
Counts = npt.NDArray[np.float64]
_Key = tuple[str, int]

_MOST_POINTS = 1 << 18  # that are enumerated for one part
_MOST_SOLVED = 1 << 20  # elements times points that are solved for
_MOST_KEYS = 1 << 22  # of a table that is indexed by elements
_MOST = 2**62


class ReadCounts:
    """Counts the points of maps that reach an element.

    >>> m = IndexingMap.parse("(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 7], d1 in [0, 31], s0 in [0, 15]")
    >>> ReadCounts([m], [(0, 7), (0, 15)])(np.array([[3, 5], [9, 0]])).tolist()
    [32.0, 0.0]
    """

    def __init__(self, maps: Iterable[IndexingMap], bounds: Bounds) -> None:
        self._counters = [_counter(m, bounds) for m in maps]

    def __call__(self, elements: Points) -> Counts | None:
        """The counts of ``[n, rank]`` elements; None where they are not known."""
        total = np.zeros(len(elements))
        for counter in self._counters:
            found = None if counter is None else counter(elements)
            if found is None:
                return None
            total += found
        return total


def restricted(m: IndexingMap, box: Bounds) -> IndexingMap | None:
    """The map for a box of its dims; None where none of them is in its domain."""
    if len(m.dims) != len(box):
        return m
    limits = [(max(v.lower, lo), min(v.upper, hi)) for v, (lo, hi) in zip(m.dims, box, strict=True)]
    if any(lo > hi for lo, hi in limits):
        return None
    dims = [Variable(v.name, lo, hi) for v, (lo, hi) in zip(m.dims, limits, strict=True)]
    ranges, runtime = _without_sources(m.ranges), _without_sources(m.runtime)
    return IndexingMap(dims, m.results, ranges=ranges, runtime=runtime, constraints=m.constraints)


_Counter: TypeAlias = Callable[[Points], "Counts | None"]
_MaybeCounter: TypeAlias = "_Counter | None"


def _counter(m: IndexingMap, bounds: Bounds) -> _Counter | None:
    """The counter of one map; None where nothing is known."""
    if m.is_undefined or len(m.results) != len(bounds):
        return None
    if m.is_known_empty:
        return lambda elements: np.zeros(len(elements))
    factors = [_part_counter(part, results, [bounds[k] for k in results]) for part, results in _parts(m)]
    if None in factors:
        return _inverse_counter(m)

    def count(elements: Points) -> Counts | None:
        total = np.ones(len(elements))
        for factor in factors:
            found = None if factor is None else factor(elements)
            if found is None:
                return None
            total *= found
        return total

    return count


# -------------------------------------------------------------------------------------------------------------- parts


def _parts(m: IndexingMap) -> Iterator[tuple[IndexingMap, list[int]]]:
    """The map as maps of which no two share a variable, each with the numbers of its results."""
    kinds, results, constraints = _kinds(m), m.results, m.constraints
    variables = [(kind, k) for kind, of in kinds.items() for k in range(len(of))]
    of_results = [variables_of(e) for e in results]
    of_constraints = [variables_of(c.expr) for c in constraints]
    leader = {key: key for key in variables}

    def find(key: _Key) -> _Key:
        while leader[key] != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    for used in (*of_results, *of_constraints):
        for key in used[1:]:
            leader[find(key)] = find(used[0])
    groups: dict[_Key | None, tuple[list[_Key], list[int], list[int]]] = {}
    for key in variables:
        groups.setdefault(find(key), ([], [], []))[0].append(key)
    for place, found in ((1, of_results), (2, of_constraints)):
        for number, used in enumerate(found):
            group = groups.setdefault(find(used[0]) if used else None, ([], [], []))
            (group[1] if place == 1 else group[2]).append(number)

    new: dict[str, list[Expr]] = {kind: [Expr.constant(0)] * len(of) for kind, of in kinds.items()}
    for keys, own_results, own_constraints in groups.values():
        own: dict[str, list[Variable]] = {kind: [] for kind in kinds}
        for kind, k in keys:
            new[kind][k] = _EXPR_OF_KIND[kind](len(own[kind]))
            own[kind] += _without_sources([kinds[kind][k]])
        replaced = new["dim"], new["range"], new["runtime"]
        part = IndexingMap(
            own["dim"],
            [results[k].substitute(*replaced) for k in own_results],
            ranges=own["range"],
            runtime=own["runtime"],
            constraints=[
                (c.expr.substitute(*replaced), c.lower, c.upper) for c in map(constraints.__getitem__, own_constraints)
            ],
        )
        yield part, own_results


_EXPR_OF_KIND = {"dim": Expr.dim, "range": Expr.range, "runtime": Expr.runtime}


def _kinds(m: IndexingMap) -> dict[str, Sequence[Variable]]:
    return {"dim": m.dims, "range": m.ranges, "runtime": m.runtime}


def _without_sources(variables: Iterable[Variable]) -> list[Variable]:
    return [Variable(v.name, v.lower, v.upper) for v in variables]


# ------------------------------------------------------------------------------------------------------------ counting


def _part_counter(part: IndexingMap, results: list[int], bounds: Bounds) -> _MaybeCounter:
    """The counter of a part with results of these numbers and bounds, or None where it is too large."""
    sizes = {(kind, k): v.upper - v.lower + 1 for kind, of in _kinds(part).items() for k, v in enumerate(of)}
    n = prod(sizes.values())
    if not results and not part.constraints:
        return lambda elements: np.full(len(elements), float(min(n, 2**1000)))
    if n <= _MOST_POINTS:
        return _enumerated(part, list(sizes), results, bounds)
    linear = _linear(part, sizes) if len(results) == 1 else None
    if linear is not None:
        big, factor = linear
        if n // sizes[big] <= _MOST_SOLVED >> 8:
            return _solved(part, [key for key in sizes if key != big], big, factor, results[0])
    return None


def _grid(m: IndexingMap, keys: list[_Key]) -> dict[str, Points]:
    """All values of some variables, with the least value of the others: ``[n, variables]`` for each kind."""
    of = _kinds(m)
    axes = [np.arange(of[kind][k].lower, of[kind][k].upper + 1, dtype=np.int64) for kind, k in keys]
    columns = [column.reshape(-1) for column in np.meshgrid(*axes, indexing="ij")] if axes else []
    n = len(columns[0]) if columns else 1
    values = {kind: np.tile(np.array([v.lower for v in vs], np.int64), (n, 1)) for kind, vs in of.items()}
    for (kind, k), column in zip(keys, columns, strict=True):
        values[kind][:, k] = column
    return values


def _enumerated(m: IndexingMap, keys: list[_Key], results: list[int], bounds: Bounds) -> _MaybeCounter:
    """Counts by a table of all points."""
    at = _grid(m, keys)
    inside = np.asarray(m.in_domain(at["dim"], at["range"], at["runtime"]))
    if not results:
        return lambda elements: np.full(len(elements), float(inside.sum()))
    n_keys = prod(max(0, hi - lo + 1) for lo, hi in bounds)
    if n_keys >= _MOST:
        return None
    found = np.asarray(m.evaluate(at["dim"][inside], at["range"][inside], at["runtime"][inside]))
    keys_found = _ravel(found, bounds)
    keys_found = keys_found[keys_found >= 0]
    if n_keys <= _MOST_KEYS:
        table = np.bincount(keys_found, minlength=n_keys)

        def look_up(elements: Points) -> Counts:
            own = _ravel(elements[:, results], bounds)
            return np.where(own >= 0, table[np.maximum(own, 0)] if n_keys else 0, 0).astype(np.float64)

        return look_up
    kept, counts = np.unique(keys_found, return_counts=True)

    def search(elements: Points) -> Counts:
        own = _ravel(elements[:, results], bounds)
        if not len(kept):
            return np.zeros(len(own))
        place = np.minimum(np.searchsorted(kept, own), len(kept) - 1)
        return np.where(kept[place] == own, counts[place], 0).astype(np.float64)

    return search


def _ravel(elements: Points, bounds: Bounds) -> Points:
    """The row-major number of each element within bounds; -1 outside."""
    keys = np.zeros(len(elements), np.int64)
    inside = np.ones(len(elements), np.bool_)
    for k, (lo, hi) in enumerate(bounds):
        column = elements[:, k]
        inside &= (lo <= column) & (column <= hi)
        keys = keys * (hi - lo + 1) + np.where(inside, column - lo, 0)
    return np.where(inside, keys, -1)


def _linear(m: IndexingMap, sizes: dict[_Key, int]) -> tuple[_Key, int] | None:
    """The largest variable in which the one result is linear, with its factor."""
    (e,) = m.results
    for key in sorted(sizes, key=lambda key: -sizes[key])[:4]:
        terms = e.operands if e.kind == "sum" else (e,)
        using = [term for term in terms if key in variables_of(term)]
        if len(using) != 1:
            continue
        term = using[0]
        factors = term.operands if term.kind == "product" else (term,)
        constants = [factor.value for factor in factors if factor.kind == "constant" and factor.value is not None]
        if len(factors) == len(constants) + 1 and any((f.kind, f.value) == key for f in factors):
            return key, prod(constants)
    return None


def _solved(m: IndexingMap, small: list[_Key], big: _Key, factor: int, result: int) -> _Counter:
    """Counts by solving for the big variable at every point of the small ones."""
    solved = _kinds(m)[big[0]][big[1]]
    low, high = solved.lower, solved.upper

    def count(elements: Points) -> Counts | None:
        targets, back = np.unique(elements[:, result], return_inverse=True)
        at = _grid(m, small)
        rest = np.asarray(m.evaluate(at["dim"], at["range"], at["runtime"], check=False))[:, 0] - factor * low
        if len(targets) * len(rest) > _MOST_SOLVED:
            return None
        difference = (targets[:, None] - rest[None, :]).reshape(-1)
        value = difference // factor
        valid = (value * factor == difference) & (low <= value) & (value <= high)
        every = {kind: np.tile(values, (len(targets), 1)) for kind, values in at.items()}
        every[big[0]][:, big[1]] = np.where(valid, value, low)
        valid &= np.asarray(m.in_domain(every["dim"], every["range"], every["runtime"]))
        found: Counts = valid.reshape(len(targets), len(rest)).sum(axis=1).astype(np.float64)
        return found[back.reshape(-1)]

    return count


def _inverse_counter(m: IndexingMap) -> _MaybeCounter:
    """Counts by the inverse: an element of an injective map is reached once, or not at all."""
    if m.runtime or m.ranges:
        return None
    try:
        inverse = m.inverse()
    except (HlomapError, OverflowError):
        return None
    if isinstance(inverse, Unknown):
        return None
    own = inverse

    def count(elements: Points) -> Counts:
        inside = np.asarray(own.in_domain(elements))
        points = np.asarray(own.evaluate(np.where(inside[:, None], elements, own_least), check=False))
        inside &= np.asarray(m.in_domain(points))
        inside &= (np.asarray(m.evaluate(points, check=False)) == elements).all(axis=1)
        return inside.astype(np.float64)

    own_least = np.array([v.lower for v in own.dims], np.int64)
    return count
