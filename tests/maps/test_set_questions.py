"""Images, overlaps, injectivity, coalescing and differences of elements, against all points of small maps."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, strategies as st
from support.map_pairs import all_pairs
from support.random_maps import QUASIAFFINE, maps

import hlomap as hm


def parsed(text: str) -> hm.IndexingMap:
    return hm.IndexingMap.parse(text)


ONE_RESULT = maps(n_results=1, exprs=QUASIAFFINE)


@st.composite
def gathers(draw: st.DrawFn) -> hm.IndexingMap:
    """A map with an element of the first or the second array of three numbers, which the dims select."""
    dims, at = hm.Expr.dim(0), draw(QUASIAFFINE).substitute(ranges=[hm.Expr.dim(0)]) % 3
    runtime = [hm.maps.Variable(None, 0, 2, source=draw(st.sampled_from([1, 2])), element=[at])]
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


def test_neighbours_in_a_set_that_reach_an_element_twice() -> None:
    """Each map is injective by itself, and so are the first and the last together."""
    first, second, third = (hm.IndexingMap.parse(f"(d0) -> (d0 * 5 + {n}), domain: d0 in [0, 3]") for n in (0, 10, 3))
    found = hm.MapSet([first, second, third]).is_injective()
    assert found.value is False and found.witness is not None and found.witness.element in [(10,), (15,)]
    assert hm.MapSet([first, third]).is_injective().value is True


@given(st.lists(maps(exprs=QUASIAFFINE), min_size=1, max_size=2), maps(exprs=QUASIAFFINE))
def test_the_witness_of_a_containment_is_a_pair_that_is_missing(
    outer: list[hm.IndexingMap], inner: hm.IndexingMap
) -> None:
    members, one = hm.MapSet(outer), hm.MapSet([inner])
    for a, b in ((members, one), (members.image(), one.image())):
        if len({(len(m.dims), len(m.results)) for m in (*a, *b) if not m.is_known_empty}) > 1:
            continue
        found, missing = a.covers(b), all_pairs(b) - all_pairs(a)
        assert found.value in (None, not missing)
        if found.witness is not None:
            assert (found.witness.dims, found.witness.element) in missing
        assert found.value is not False or (found.witness is None) != (found.reason is None)


def ragged() -> hm.IndexingMap:
    """10 x 7 blocks in groups of four rows; the last group has two."""
    pid, least = hm.Expr.dim(0), hm.Expr.minimum
    first = pid // 28 * 4
    return hm.IndexingMap([70], [first + pid % 28 % least(10 - first, 4), pid % 28 // least(10 - first, 4)])


def test_what_is_contained_is_subtracted() -> None:
    """Although the difference has no maps in the form of the operands."""
    full = hm.IndexingMap([], [hm.Expr.range(0), hm.Expr.range(1)], ranges=[10, 7])
    assert str(full - ragged().image()) == "EMPTY" and (full - ragged().image()).exact
    some = full - ragged().restrict({0: (0, 68)}).image()
    assert str(some).endswith("\n(over-approximate: the results of a map do not determine its ranges)")
    assert ragged().restrict({0: (0, 68)}).image().covers(full).witness == hm.results.MissingElement((9, 6))


def test_an_injective_map_without_an_inverse_says_so() -> None:
    assert ragged().is_injective().value is True
    assert str(ragged().inverse()).endswith("the map is injective, but its results cannot be solved for the dims")
    assert str(parsed("(d0) -> (d0 floordiv 2), domain: d0 in [0, 4]").inverse()).endswith(
        "may not determine the dimensions"
    )
