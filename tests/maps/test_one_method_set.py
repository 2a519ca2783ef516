"""The methods that maps and sets share: on a map, on the set of this map and on a set of two, against enumeration."""

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
    points = found.witness.first, found.witness.second
    return all(
        p.map.in_domain(p.dims, p.ranges) and tuple(p.map.evaluate(p.dims, p.ranges)) == found.witness.element
        for p in points
    ) and (of or points[0] != points[1])


# A method on a subject and another one, and whether its result is right for the points of the two.
METHODS: dict[str, tuple[Callable[[Subject, Subject], Any], Callable[[Any, list[Pair], list[Pair]], bool]]] = {
    "&": (lambda a, b: a & b, lambda found, own, theirs: relates(found, {*own} & {*theirs})),
    "|": (lambda a, b: a | b, lambda found, own, theirs: found.exact and relates(found, {*own, *theirs})),
    "-": (lambda a, b: a - b, lambda found, own, theirs: relates(found, {*own} - {*theirs})),
    "then": (lambda a, b: a.then(b), lambda found, own, theirs: relates(found, composed(own, theirs))),
    "restrict": (
        lambda a, b: a.restrict({0: (0, 2), 1: range(2, 9)}),
        lambda found, own, theirs: relates(found, {(d, e) for d, e in own if 0 <= d[0] <= 2 and d[1] >= 2}),
    ),
    "image": (
        lambda a, b: a.image([(0, 2), None]),
        lambda found, own, theirs: relates(found, {((), e) for d, e in own if 0 <= d[0] <= 2}),
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
        lambda found, own, theirs: found.value is bool(reached(own) & reached(theirs)) and has_witness(found, True),
    ),
    "is_empty": (lambda a, b: a.is_empty(), lambda found, own, theirs: found.value is (not own)),
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
    assert own[0].is_injective().value is not None and len(hm.MapSet(own).simplify()) <= len(own)


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
