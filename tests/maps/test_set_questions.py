"""Images, overlaps, injectivity, coalescing and differences of elements, against all points of small maps."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
from hypothesis import given, strategies as st
from support.map_pairs import all_pairs, elements, pairs
from support.random_maps import QUASIAFFINE, maps

import hlomap as hm


def parsed(text: str) -> hm.IndexingMap:
    return hm.IndexingMap.parse(text)


def with_runtime(m: hm.IndexingMap) -> hm.IndexingMap:
    """The map with its range as a runtime variable."""
    v, value = m.ranges[0], [hm.Expr.runtime(0)]
    constraints = [(c.expr.substitute(ranges=value), c.lower, c.upper) for c in m.constraints]
    results = [e.substitute(ranges=value) for e in m.results]
    runtime = [hm.Variable(None, v.lower, v.upper, source=1)]
    return hm.IndexingMap(m.dims, results, runtime=runtime, constraints=constraints)


INTERVALS = st.tuples(st.integers(-8, 12), st.integers(-8, 14))
SMALL = maps(exprs=QUASIAFFINE)
ONE_RESULT = maps(n_results=1, exprs=QUASIAFFINE)


@given(st.lists(SMALL, max_size=2), st.lists(INTERVALS, min_size=2, max_size=2))
def test_images_of_boxes(members: list[hm.IndexingMap], box: list[tuple[int, int]]) -> None:
    in_box = {
        element
        for point, element in all_pairs(members)
        if all(lower <= x <= upper for x, (lower, upper) in zip(point, box, strict=True))
    }
    found = hm.MapSet(members).image(box)
    assert found.exact and all(not m.dims for m in found)
    assert elements(found) == in_box
    assert elements(hm.MapSet(members).image()) == elements(members)


@given(ONE_RESULT, ONE_RESULT)
def test_answers_hold_for_all_values_of_runtime_variables(a: hm.IndexingMap, b: hm.IndexingMap) -> None:
    a, b = with_runtime(a), with_runtime(b)
    values = [range(m.runtime[0].lower, m.runtime[0].upper + 1) for m in (a, b)]
    if values[0] == values[1]:  # the same element of the same array, so the same value
        cases = [((x,), (x,)) for x in values[0]]
    else:
        cases = [((x,), (y,)) for x in values[0] for y in values[1]]
    meets = {bool(elements([a], x) & elements([b], y)) for x, y in cases}
    found = a.overlap(b)
    assert found.value is None or meets <= {found.value}
    injective = {max(Counter(e for _, e in pairs(a, (x,))).values(), default=0) < 2 for x in values[0]}
    assert a.is_injective().value is None or injective <= {a.is_injective().value}
    if values[0] != values[1]:
        return
    left = a.image() - b.image()
    for x, _ in cases:
        rest = elements([a], x) - elements([b], x)
        kept = {element for m in left for _, element in pairs(m, x[: len(m.runtime)])}
        assert kept == rest if left.exact else kept >= rest


@st.composite
def gathers(draw: st.DrawFn) -> hm.IndexingMap:
    """A map with an element of the first or the second array of three numbers, which the dims select."""
    dims, at = hm.Expr.dim(0), draw(QUASIAFFINE).substitute(ranges=[hm.Expr.dim(0)]) % 3
    runtime = [hm.Variable(None, 0, 2, source=draw(st.sampled_from([1, 2])), element=[at])]
    results = [dims * draw(st.integers(-3, 3)) + draw(st.integers(-3, 3)) * hm.Expr.runtime(0)]
    bounds = draw(st.lists(st.sampled_from([(0, 0), (0, 1), (0, 2), (2, 3)]), min_size=2, max_size=2))
    constraints = draw(st.sampled_from([[], [(hm.Expr.runtime(0) + dims, 0, 2)], [(hm.Expr.dim(1) + dims, 1, 2)]]))
    return hm.IndexingMap(bounds, results, runtime=runtime, constraints=constraints)


def gathered(m: hm.IndexingMap, arrays: dict[int, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The element of each point of the domain, for these arrays."""
    if m.is_known_empty:
        return []
    axes = [range(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
    points = np.array(list(product(*axes)), int).reshape(-1, len(axes))
    dims, ranges = points[:, : len(m.dims)], points[:, len(m.dims) :]
    values = np.zeros((len(points), len(m.runtime)), int)
    for k, v in enumerate(m.runtime):
        index = hm.IndexingMap(list(m.dims), list(v.element), ranges=list(m.ranges))
        values[:, k] = np.array(arrays[v.source or 0])[index.evaluate(dims, ranges)[:, 0]]
    inside = m.in_domain(dims, ranges, values)
    return list(map(tuple, m.evaluate(dims, ranges, values, check=False)[inside].tolist()))


ARRAYS = [{1: first, 2: (0, 2, 1)} for first in product(range(3), repeat=3)]


@given(gathers(), gathers())
def test_answers_hold_for_all_arrays(a: hm.IndexingMap, b: hm.IndexingMap) -> None:
    found = a.overlap(b)
    assert found.value is None or {bool({*gathered(a, x)} & {*gathered(b, x)}) for x in ARRAYS} == {found.value}
    found = a.is_injective()
    assert found.value is None or {len({*gathered(a, x)}) == len(gathered(a, x)) for x in ARRAYS} == {found.value}


@given(st.lists(gathers(), max_size=3))
def test_coalesced_sets_relate_the_same_pairs_for_all_arrays(members: list[hm.IndexingMap]) -> None:
    found = hm.MapSet(members).simplify()
    for arrays in ARRAYS:
        assert {e for m in found for e in gathered(m, arrays)} == {e for m in members for e in gathered(m, arrays)}


def test_a_constraint_that_a_join_makes_redundant_is_gone() -> None:
    whole = parsed("(d0, d1) -> (), domain: d0 in [0, 5], d1 in [0, 2], d0 - d1 in [0, 5]")
    corner = parsed("(d0, d1) -> (), domain: d0 in [3, 5], d1 in [3, 5], d0 - d1 in [0, 5]")
    above = parsed("(d0, d1) -> (), domain: d0 in [0, 1], d1 in [1, 2], d0 - d1 in [-6, -1]")
    assert all_pairs(hm.MapSet([whole, corner, above]).simplify()) == all_pairs([whole, corner, above])


@given(ONE_RESULT, st.integers(-4, 9))
def test_halves_are_coalesced(m: hm.IndexingMap, cut: int) -> None:
    halves = hm.MapSet([m]).restrict({0: (-9, cut)}) | hm.MapSet([m]).restrict({0: (cut + 1, 19)})
    assert all_pairs(halves.simplify()) == all_pairs([m])
