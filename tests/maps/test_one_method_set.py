"""The methods that maps and sets share: on a map, on the set of this map and on a set of two, against enumeration.

With a runtime variable, against the enumeration for each of its values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.map_pairs import Pair, all_pairs, pairs
from support.random_maps import BOX, N_DIMS, QUASIAFFINE, maps

import hlomap as hm

Subject = Any
"""A map or a set, which have no common type."""

SMALL = maps(n_results=2, bounds=st.tuples(st.integers(-2, 2), st.integers(1, 5)), exprs=QUASIAFFINE)
DECIDED = {"overlap", "is_empty"}
VALUES = range(3)


def with_runtime(m: hm.IndexingMap) -> hm.IndexingMap:
    """The map with a runtime variable in place of its range in one result and beside it in the other."""
    value, runtime = [hm.Expr.runtime(0)], [hm.maps.Variable(None, 0, VALUES[-1], source=1)]
    constraints = [(c.expr.substitute(ranges=value), c.lower, c.upper) for c in m.constraints[:1]]
    constraints += [(c.expr, c.lower, c.upper) for c in m.constraints[1:]]
    results = [m.results[0].substitute(ranges=value), m.results[1] + value[0]] if m.results else []
    return hm.IndexingMap(m.dims, results, ranges=m.ranges, runtime=runtime, constraints=constraints)


def at_value(found: Any, x: int) -> Any:
    """A result that is a map or a set, for a value of the runtime variable."""
    if isinstance(found, hm.MapSet):
        return hm.MapSet([at_value(m, x) for m in found], exact=found.exact, reason=found.reason)
    if not isinstance(found, hm.IndexingMap) or found.is_known_empty:
        return found
    value = hm.Expr.constant(x)
    constraints = [(c.expr, c.lower, c.upper) for c in found.constraints]
    constraints += [(hm.Expr.runtime(k), v.lower, v.upper) for k, v in enumerate(found.runtime)]
    fixed = [(e.substitute(runtime=[value] * len(found.runtime)), *bounds) for e, *bounds in constraints]
    results = [e.substitute(runtime=[value] * len(found.runtime)) for e in found.results]
    return hm.IndexingMap(found.dims, results, ranges=found.ranges, constraints=fixed)


def members(subject: Subject) -> list[hm.IndexingMap]:
    return [subject] if isinstance(subject, hm.IndexingMap) else list(subject)


def relates(found: Subject, expected: set[Pair]) -> bool:
    """Whether a map or a set has these pairs; others, too, where it is not exact."""
    own = all_pairs(members(found))
    return own == expected if isinstance(found, hm.IndexingMap) or found.exact else own >= expected


def points_of(subject: Subject) -> list[Pair]:
    return [pair for m in members(subject) for pair in pairs(m)]


def reached(found: list[Pair]) -> set[tuple[int, ...]]:
    return {element for _, element in found}


def composed(own: list[Pair], theirs: list[Pair]) -> set[Pair]:
    return {(point, end) for (point, element), (start, end) in product({*own}, {*theirs}) if element == start}


def has_witness(found: hm.Answer[Any], of: bool) -> bool:
    """Whether an answer has two different points of one element if it is this one, and none if it is not."""
    if found.value is not of:
        return found.witness is None
    points = [(p.map, p.dims, p.ranges, p.runtime) for p in (found.witness.first, found.witness.second)]
    return all(m.in_domain(*point) and tuple(m.evaluate(*point)) == found.witness.element for m, *point in points) and (
        of or points[0] != points[1]
    )


# A method on a subject and another one, and whether its result is right for the points of the two.
METHODS: dict[str, tuple[Callable[[Subject, Subject], Any], Callable[[Any, list[Pair], list[Pair]], bool]]] = {
    "&": (lambda a, b: a & b, lambda found, own, theirs: relates(found, {*own} & {*theirs})),
    "|": (lambda a, b: a | b, lambda found, own, theirs: found.exact and relates(found, {*own, *theirs})),
    "-": (lambda a, b: a - b, lambda found, own, theirs: relates(found, {*own} - {*theirs})),
    "then": (lambda a, b: a.then(b), lambda found, own, theirs: relates(found, composed(own, theirs))),
    "restrict": (
        lambda a, b: a.restrict({0: slice(0, 3), 1: range(2, 4)}),
        lambda found, own, theirs: relates(found, {(d, e) for d, e in own if 0 <= d[0] <= 2 and d[1] in (2, 3)}),
    ),
    "image": (
        lambda a, b: a.image([(0, 2), None]),
        lambda found, own, theirs: found.exact and relates(found, {((), e) for d, e in own if 0 <= d[0] <= 2}),
    ),
    "& of images": (
        lambda a, b: a.image() & b.image(),
        lambda found, own, theirs: relates(found, {((), e) for e in reached(own) & reached(theirs)}),
    ),
    "- of images": (
        lambda a, b: a.image() - b.image(),
        lambda found, own, theirs: relates(found, {((), e) for e in reached(own) - reached(theirs)}),
    ),
    "simplify": (
        lambda a, b: a.simplify(),
        lambda found, own, theirs: relates(found, {*own}) and (isinstance(found, hm.IndexingMap) or found.exact),
    ),
    "covers": (lambda a, b: a.covers(b), lambda found, own, theirs: found.value in (None, {*theirs} <= {*own})),
    "equivalent": (
        lambda a, b: a.equivalent(b),
        lambda found, own, theirs: found.value in (None, {*theirs} == {*own}),
    ),
    "overlap": (
        lambda a, b: a.overlap(b),
        lambda found, own, theirs: (
            found.value in (None, bool(reached(own) & reached(theirs))) and has_witness(found, True)
        ),
    ),
    "is_empty": (lambda a, b: a.is_empty(), lambda found, own, theirs: found.value in (None, not own)),
    "is_injective": (
        lambda a, b: a.is_injective(),
        lambda found, own, theirs: found.value in (None, len(own) == len(reached(own))) and has_witness(found, False),
    ),
    "count": (lambda a, b: a.count(), lambda found, own, theirs: found.lower <= len(own) <= found.upper),
    "count(distinct=True)": (
        lambda a, b: a.count(distinct=True),
        lambda found, own, theirs: found.lower <= len(reached(own)) <= found.upper,
    ),
    "bounds": (
        lambda a, b: [a.bounds(i) for i in range(2)] if any(not m.is_known_empty for m in members(a)) else [],
        lambda found, own, theirs: all(
            lower <= x <= upper for e in reached(own) for x, (lower, upper) in zip(e, found, strict=True)
        ),
    ),
}


@settings(max_examples=80)
@given(st.lists(SMALL, min_size=2, max_size=3), st.lists(SMALL, min_size=1, max_size=2))
def test_methods(own: list[hm.IndexingMap], others: list[hm.IndexingMap]) -> None:
    other = others[0] if len(others) == 1 else hm.MapSet(others)
    for subject in (own[0], hm.MapSet(own[:1]), hm.MapSet(own)):
        for a, b in ((subject, other), (subject, subject)):
            points = points_of(a), points_of(b)
            for name, (ask, is_right) in METHODS.items():
                found = ask(a, b)
                assert is_right(found, *points), (name, found)
                assert name not in DECIDED or found.value is not None
    assert own[0].is_injective().value is not None and len(hm.MapSet(own).simplify()) <= len(own)


@settings(max_examples=60)
@given(st.lists(SMALL.map(with_runtime), min_size=1, max_size=2), st.lists(SMALL.map(with_runtime), max_size=2))
def test_methods_for_all_values_of_a_runtime_variable(own: list[hm.IndexingMap], others: list[hm.IndexingMap]) -> None:
    for a, b in ((own[0], hm.MapSet(others)), (hm.MapSet(own), hm.MapSet(others)), (hm.MapSet(own), own[0])):
        points = [[[p for m in members(s) for p in pairs(at_value(m, x))] for s in (a, b)] for x in VALUES]
        whole = [[((x, *d), e) for x in VALUES for d, e in points[x][k]] for k in range(2)]
        for name, (ask, is_right) in METHODS.items():
            found = ask(a, b)
            if name in ("covers", "equivalent", "is_empty"):  # false if it is for any value
                assert is_right(found, *whole), (name, found)
                continue
            for x in VALUES:
                assert is_right(at_value(found, x), *points[x]), (name, x, found)


@settings(max_examples=40)
@given(SMALL, st.lists(SMALL, min_size=1, max_size=2))
def test_a_map_behaves_as_the_set_of_it(m: hm.IndexingMap, others: list[hm.IndexingMap]) -> None:
    """Results that are maps are compared by their pairs: those of sets are simplified."""
    other = others[0] if len(others) == 1 else hm.MapSet(others)
    for name, (ask, _) in METHODS.items():
        alone, in_set = ask(m, other), ask(hm.MapSet([m]), other)
        if isinstance(alone, hm.IndexingMap):
            assert all_pairs([alone]) == all_pairs(in_set), name
        else:
            assert alone == in_set, name


@pytest.mark.parametrize("n_maps", [0, 1, 2])
@settings(max_examples=40)
@given(st.tuples(SMALL, SMALL))
def test_evaluate(n_maps: int, own: tuple[hm.IndexingMap, ...]) -> None:
    subjects: list[Subject] = [hm.MapSet(own[:n_maps]), *own[: n_maps if n_maps == 1 else 0]]
    values: dict[tuple[int, ...], set[tuple[int, ...]]] = defaultdict(set)
    for m in own[:n_maps]:
        if not m.is_known_empty:
            inside = BOX[m.in_domain(BOX[:, :N_DIMS], BOX[:, N_DIMS:])]
            found = m.evaluate(inside[:, :N_DIMS], inside[:, N_DIMS:])
            for point, element in zip(inside.tolist(), found.tolist(), strict=True):
                values[tuple(point)].add(tuple(element))
    clear = np.array([point for point, found in values.items() if len(found) == 1], int).reshape(-1, BOX.shape[1])
    torn = [point for point, found in values.items() if len(found) > 1]
    outside = next((point for point in BOX.tolist() if tuple(point) not in values), None)
    for subject in subjects:
        if len(clear):
            found = subject.evaluate(clear[:, :N_DIMS], clear[:, N_DIMS:])
            assert [{tuple(element)} for element in found.tolist()] == [
                values[tuple(point)] for point in clear.tolist()
            ]
            assert subject.evaluate(clear[0, :N_DIMS], clear[0, N_DIMS:]).tolist() == found[0].tolist()
        if torn:
            with pytest.raises(hm.errors.MapError, match=r"point 0 has several elements in the set; image\(\)"):
                subject.evaluate([torn[0][:N_DIMS]], [torn[0][N_DIMS:]])
        if outside is not None:
            with pytest.raises(hm.errors.DomainError, match="point 0 lies outside"):
                subject.evaluate(outside[:N_DIMS], outside[N_DIMS:])
            subject.evaluate(outside[:N_DIMS], outside[N_DIMS:], check=False)
