"""Decides whether one map contains another.

:func:`contains` is the entry point, for many maps :func:`uncontained`.  Invariant: True and False are proven, None is
undecided.  True is found by expressing the outer map's ranges in the inner map's variables; where that fails and there
are few points, the points are compared.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from .._core import Expr, IndexingMap, _may_contain
from .enumerate_pairs import EnumerationLimitError, enumerate_points
from .variables import numbers_of

__all__ = ["Containment", "contains", "uncontained"]

_MAX_POINTS = 1 << 14

_MAX_POINTS_IN_ALL = 1 << 20

_MAX_EXPRESSIONS = 1 << 16

_Pairs = frozenset[tuple[int, ...]]


def contains(outer: IndexingMap, inner: IndexingMap) -> bool | None:
    """Whether ``outer`` relates every point of the dimensions to all elements that ``inner`` relates it to.

    >>> whole = IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 7]")
    >>> contains(whole, IndexingMap.parse("(d0) -> (d0 + 3), domain: d0 in [0, 4]"))
    True
    >>> contains(whole, IndexingMap.parse("(d0) -> (d0 + 4), domain: d0 in [0, 4]"))
    False
    """
    return Containment().contains(outer, inner)


def uncontained(maps: Sequence[IndexingMap]) -> list[IndexingMap]:
    """The maps without those that another one contains; of maps that contain each other the first stays.

    >>> texts = ["(d0) -> (d0), domain: d0 in [0, 4]", "(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]"]
    >>> [len(m.ranges) for m in uncontained([IndexingMap.parse(text) for text in texts])]
    [1]
    """
    if len(maps) < 2:
        return list(maps)
    containment = Containment()
    outer = _may_contain(maps)
    inner: list[list[int]] = [[] for _ in maps]
    for i, found in enumerate(outer):
        for k in found:
            inner[k].append(i)
    is_kept = [False] * len(maps)
    for i, m in enumerate(maps):
        if any(is_kept[k] and containment.contains(maps[k], m) for k in outer[i]):
            continue
        for k in inner[i]:
            is_kept[k] = is_kept[k] and not containment.contains(m, maps[k])
        is_kept[i] = True
    return [m for m, stays in zip(maps, is_kept, strict=True) if stays]


class Containment:
    """Decides :func:`contains` for many pairs of the same maps: each map is enumerated at most once."""

    def __init__(self) -> None:
        self._pairs: dict[IndexingMap, _Pairs | None] = {}
        self._n_left = _MAX_POINTS_IN_ALL
        self._facts: dict[IndexingMap, dict[Expr, tuple[int, int]]] = {}
        self._shifted: dict[IndexingMap, list[tuple[int, int, Expr]]] = {}
        self._values: dict[IndexingMap, list[int | None]] = {}
        self._value_numbers: dict[Hashable, int] = {}
        self._n_expressions_left = _MAX_EXPRESSIONS

    def contains(self, outer: IndexingMap, inner: IndexingMap) -> bool | None:
        """As the function; undecided once the maps have too many points and expressions in all."""
        if inner.is_known_empty or outer == inner:
            return True
        if len(outer.dims) != len(inner.dims):
            return False
        if outer.is_known_empty:
            return inner.is_empty().equal
        if len(outer.results) != len(inner.results):
            return False
        known = self._pairs.get(outer), self._pairs.get(inner)
        if (known[0] is None or known[1] is None) and self._contains_by_substitution(outer, inner):
            return True
        of_outer = self._enumerate(outer)
        of_inner = None if of_outer is None else self._enumerate(inner)
        return None if of_outer is None or of_inner is None else of_inner <= of_outer

    def _enumerate(self, m: IndexingMap) -> _Pairs | None:
        if m not in self._pairs:
            self._pairs[m] = pairs = None if m.runtime else _enumerate(m, min(_MAX_POINTS, self._n_left))
            self._n_left -= len(pairs or ())
        return self._pairs[m]

    def _contains_by_substitution(self, outer: IndexingMap, inner: IndexingMap) -> bool:
        """Whether a choice of the outer map's ranges at each point of ``inner`` makes all results equal."""
        chosen: dict[int, Expr] = {}
        for outer_result, inner_result in zip(outer.results, inner.results, strict=True):
            if outer_result.kind == "range":
                number = outer_result.value or 0
                if chosen.setdefault(number, inner_result) != inner_result:
                    return False
        try:
            for k, number, rest in self._shifted_ranges(outer):
                if number not in chosen:
                    chosen[number] = inner.results[k] - rest
        except OverflowError:
            return False
        # A range that no result determines may take any of its values.
        for i, variable in enumerate(outer.ranges):
            chosen.setdefault(i, Expr.constant(variable.lower))
        values, known = self._runtime_values(outer), self._runtime_values(inner)
        places: dict[int | None, int] = {
            value: number for number, value in reversed(list(enumerate(known))) if value is not None
        }
        runtime = [Expr.runtime(places[value]) for value in values if value in places]
        if len(runtime) < len(values):
            return False
        ranges = [chosen[i] for i in range(len(outer.ranges))]
        dims = [Expr.dim(i) for i in range(len(outer.dims))]

        def substitute(e: Expr) -> Expr:
            self._n_expressions_left -= 1
            return e.substitute(dims=dims, ranges=ranges, runtime=runtime)

        try:
            return (
                all(substitute(a) == b for a, b in zip(outer.results, inner.results, strict=True))
                and all(self._implies(inner, Expr.dim(i), v.lower, v.upper) for i, v in enumerate(outer.dims))
                and all(self._implies(inner, chosen[i], v.lower, v.upper) for i, v in enumerate(outer.ranges))
                and all(self._implies(inner, substitute(c.expr), c.lower, c.upper) for c in outer.constraints)
            )
        except (ValueError, OverflowError):
            return False

    def _runtime_values(self, m: IndexingMap) -> list[int | None]:
        """For each runtime variable a number for its value: equal numbers have equal sources, bounds and indices.

        An index may use the variables before it, which then have equal values, too.  None where the source is not
        known, and where an index uses ranges, since equal names there are different variables.
        """
        found = self._values.get(m)
        if found is None:
            self._values[m] = found = []
            for v in m.runtime:
                used = [n for e in v.index for n in numbers_of(e, "runtime")]
                before = tuple(found[n] if n < len(found) else None for n in used)
                if v.source is None or None in before or any(numbers_of(e, "range") for e in v.index):
                    found.append(None)
                    continue
                key = (v.source, v.lower, v.upper, tuple(v.index), before)
                found.append(self._value_numbers.setdefault(key, len(self._value_numbers)))
        return found

    def _shifted_ranges(self, m: IndexingMap) -> list[tuple[int, int, Expr]]:
        """The results that are a range and a sum of dims: the number of the result, that of the range, and the sum."""
        found = self._shifted.get(m)
        if found is None:
            self._shifted[m] = found = []
            for k, e in enumerate(m.results):
                terms = e.operands if e.kind == "sum" else ()
                ranges = [term for term in terms if term.kind == "range"]
                if len(ranges) == 1 and all(_is_plain(term) for term in terms if term.kind != "range"):
                    found.append((k, ranges[0].value or 0, e - ranges[0]))
        return found

    def _implies(self, m: IndexingMap, e: Expr, lower: int, upper: int) -> bool:
        """Whether the map's domain is known to imply ``lower <= e <= upper``; False when no more may be asked."""
        if self._n_expressions_left <= 0:
            return False
        self._n_expressions_left -= 1
        facts = self._facts.get(m)
        if facts is None:
            self._facts[m] = facts = {c.expr: (c.lower, c.upper) for c in m.constraints}
        least, greatest = facts.get(e, (lower - 1, upper + 1))
        if lower <= least and greatest <= upper:
            return True
        least, greatest = m.bounds(e)
        return lower <= least and greatest <= upper


def _is_plain(term: Expr) -> bool:
    """Whether a term is a constant, or a dim with a factor or without one."""
    return all(part.kind in {"constant", "dim"} for part in (term.operands if term.kind == "product" else (term,)))


def _enumerate(m: IndexingMap, limit: int) -> _Pairs | None:
    """The dimensions and results of all points; None where they are too many or negative."""
    try:
        source = [v.upper + 1 for v in m.dims]
        target = [m.bounds(i)[1] + 1 for i in range(len(m.results))]
        at, image = enumerate_points(m, source, target, {}, limit)
    except (EnumerationLimitError, ValueError, OverflowError):
        return None
    return frozenset(map(tuple, np.concatenate([at, image], axis=1).tolist()))
