"""Images, overlaps, injectivity, coalescing and differences of elements, against all points of small maps."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
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
SETS = st.lists(ONE_RESULT, max_size=3)


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


@given(SETS, SETS)
def test_differences(a: list[hm.IndexingMap], b: list[hm.IndexingMap]) -> None:
    left, right = hm.MapSet(a), hm.MapSet(b)
    by_pairs = left - right
    rest = all_pairs(a) - all_pairs(b)
    assert all_pairs(by_pairs) == rest if by_pairs.exact else all_pairs(by_pairs) >= rest
    by_elements = left.image() - right.image()
    kept = elements(a) - elements(b)
    assert elements(by_elements) == kept if by_elements.exact else elements(a) >= elements(by_elements) >= kept
    assert (by_elements.reason is None) == by_elements.exact


ROW = parsed("(d0)[s0] -> (d0 * 8 + s0), domain: d0 in [0, 3], s0 in [0, 5]")
EMPTY = parsed("(d0) -> (d0), domain: d0 in [0, 3], d0 mod 2 in [7, 9]")
UNDEFINED = hm.IndexingMap.undefined([4])
OVER = hm.MapSet([ROW], exact=False, reason="all iterations of a loop")
UNKNOWN = hm.MapSet.unknown("no rule for sort")
MOVING = parsed("(d0){rt0} -> (rt0), domain: d0 in [0, 3], rt0 in [0, 9], runtime: rt0 = #1(d0)")
WIDE = parsed(f"(d0) -> (d0), domain: d0 in [{-(2**63)}, {2**63 - 1}]")
STEPS = parsed(f"(d0) -> (d0 * 2), domain: d0 in [0, {2**62 - 1}]")


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        (None, "()[s0, s1] -> (s0 * 8 + s1), domain: s0 in [0, 3], s1 in [0, 5]"),
        ([(1, 1)], "()[s0] -> (s0), domain: s0 in [8, 13]"),
        ([1], "()[s0] -> (s0), domain: s0 in [8, 13]"),
        (np.array([1]), "()[s0] -> (s0), domain: s0 in [8, 13]"),
        ([4], "EMPTY"),
        ([2**64], "EMPTY"),
        ([[1, 1]], "()[s0] -> (s0), domain: s0 in [8, 13]"),
        ([range(1, 2)], "()[s0] -> (s0), domain: s0 in [8, 13]"),
        ([slice(1, 2)], "()[s0] -> (s0), domain: s0 in [8, 13]"),
        ([slice(3, None)], "()[s0] -> (s0), domain: s0 in [24, 29]"),
        ([slice(None, 1)], "()[s0] -> (s0), domain: s0 in [0, 5]"),
        ([None], "()[s0, s1] -> (s0 * 8 + s1), domain: s0 in [0, 3], s1 in [0, 5]"),
        ([(np.int64(3), 10**30)], "()[s0] -> (s0), domain: s0 in [24, 29]"),
        # Boxes that miss, and one whose ends would be in the domain if they were cut to 64 bits.
        ([(4, 9)], "EMPTY"),
        ([(2, 1)], "EMPTY"),
        ([range(0)], "EMPTY"),
        ([(2**63, 2**64)], "EMPTY"),
    ],
)
def test_boxes(box: Any, expected: str) -> None:
    found = ROW.image(box)
    assert str(found) == expected and found.exact
    assert hm.MapSet([ROW]).image(box) == found


@pytest.mark.parametrize("box", [{0: 1}, {1}, "1"], ids=repr)
def test_a_box_has_an_order(box: Any) -> None:
    with pytest.raises(TypeError, match=r"hm\.MapSet\.image: expected an interval for each dim"):
        hm.MapSet([ROW]).image(box)


def test_a_box_outside_64_bits_reaches_nothing() -> None:
    assert len(WIDE.image([(2**63, 2**64)])) == 0 and len(WIDE.image([(-(2**70), -(2**63) - 1)])) == 0
    assert str(WIDE.image([(2**63 - 1, 2**64)])) == f"() -> ({2**63 - 1})"


GAPS = parsed("(d0)[s0] -> (d0 * 8 + s0 + 6), domain: d0 in [0, 3], s0 in [0, 1]")


@pytest.mark.parametrize(
    ("a", "b", "equal", "reason"),
    [
        (ROW, ROW, True, None),
        (ROW, GAPS, False, None),
        (hm.MapSet(), ROW, False, None),
        (EMPTY, ROW, False, None),
        (EMPTY, EMPTY, False, None),
        (UNDEFINED, ROW, None, "nothing is known about an undefined map"),
        (UNDEFINED, EMPTY, False, None),
        (UNKNOWN, ROW, None, "no rule for sort"),
        (UNKNOWN, UNKNOWN, None, "no rule for sort"),
        (UNKNOWN, hm.MapSet(), False, None),
        (UNKNOWN, EMPTY, False, None),
        # An over-approximate set proves that nothing is shared, never that something is.
        (OVER, GAPS, False, None),
        (OVER, ROW, None, "a set is over-approximate: all iterations of a loop"),
        (MOVING, ROW, None, "it may depend on the values of the runtime variables"),
        (MOVING, parsed("() -> (10)"), False, None),
        (MOVING, MOVING, True, None),
        # Near 2**63.
        (WIDE, WIDE, True, None),
        (STEPS, parsed(f"(d0) -> (d0 * 2 + 1), domain: d0 in [0, {2**62 - 1}]"), False, None),
        (STEPS, parsed(f"(d0) -> ({2**63 - 1} - d0), domain: d0 in [0, 1]"), True, None),
    ],
)
def test_overlap_of_particular_sets(a: Any, b: Any, equal: bool | None, reason: str | None) -> None:
    for x, y in ((a, b), (b, a)):
        found = x.overlap(y)
        assert (found.value, found.reason) == (equal, reason)
        assert (found.witness is not None) == (equal is True)


@pytest.mark.parametrize(
    ("m", "equal", "reason"),
    [
        (ROW, True, None),
        (EMPTY, True, None),
        (UNDEFINED, None, "nothing is known about an undefined map"),
        (MOVING, None, "it may depend on the values of the runtime variables"),
        (WIDE, True, None),
        (STEPS, True, None),
        (parsed(f"(d0) -> (d0 floordiv {2**62}), domain: d0 in [{-(2**63)}, {2**63 - 1}]"), False, None),
        (parsed("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 9], s0 in [0, 1]"), False, None),
    ],
)
def test_injectivity_of_particular_maps(m: hm.IndexingMap, equal: bool | None, reason: str | None) -> None:
    found = m.is_injective()
    assert (found.value, found.reason) == (equal, reason)
    assert (found.witness is not None) == (equal is False)


TUPLE = hm.parse("""HloModule m
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  t = (f32[4], f32[4]) tuple(p, q)
  x = f32[4] get-tuple-element(t), index=0
  y = f32[4] get-tuple-element(t), index=1
  a = f32[2] slice(x), slice={[0:2]}
  b = f32[2] slice(x), slice={[2:4]}
  ROOT r = (f32[2], f32[2], f32[4]) tuple(a, b, y)
}""")


def test_arrays_of_a_tuple_are_kept_apart() -> None:
    reads = {name: hm.indexing(TUPLE[name], within=[*TUPLE.entry.instructions]) for name in ("a", "b", "y")}
    a, b, y = (reads[name][TUPLE["t"]] for name in ("a", "b", "y"))
    assert {m.shape_index for m in a} == {m.shape_index for m in b} == {(0,)} != {m.shape_index for m in y}
    assert a.overlap(y).value is False and a.overlap(a | y).value is True
    assert {m.shape_index for m in (a | y).image([(0, 0)])} == {(0,), (1,)}
    assert (a | y).image() - y.image() == a.image()
    halves = hm.MapSet([*a, *y.restrict({0: (0, 1)}), *y.restrict({0: (2, 3)})])
    assert [m.shape_index for m in halves.simplify()] == [(0,), (1,)]


def test_uses_and_suppliers_stay() -> None:
    module = hm.parse("""ENTRY e {
  p = f32[8] parameter(0)
  i = s32[] parameter(1)
  ROOT s = f32[3] dynamic-slice(p, i), dynamic_slice_sizes={3}
}""")
    reads = hm.output_to_input(module["s"])[0]
    for found in (
        reads.image(),
        reads.simplify(),
        reads.image([0]) - reads.image([1]),
    ):
        assert [m.runtime[0].supplier for m in found] == [module["i"]]
        assert [found.uses(m) for m in found] == [reads.uses(reads[0])]


DEVICES = hm.output_to_input(
    hm.parse("""ENTRY e {
  p = f32[2] parameter(0)
  ROOT g = f32[6] all-gather(p), replica_groups={{0,2,4},{1,3,5}}, dimensions={0}
}""").entry.root
)[0]


def test_devices_stay_in_images() -> None:
    """Elements [0, 2) of the output come from the first device of each group, whichever device computes them."""
    found = DEVICES.image([(0, 1)])
    assert found.exact and str(found) == "()[s0] -> (s0), domain: s0 in [0, 1]"
    assert found.devices is not None and DEVICES.devices is not None
    assert (found.devices.ids, found.devices.groups) == (DEVICES.devices.ids, DEVICES.devices.groups)
    reached = {(dims[0], element) for m in found.devices.maps for dims, element in pairs(m)}
    assert reached == {(group, (x, group, 0)) for group in range(2) for x in range(2)}


def test_devices_leave_questions_open() -> None:
    last = DEVICES.image([(4, 5)])
    own = hm.MapSet([hm.IndexingMap.identity([2])])
    assert last.overlap(own).value is True
    assert last.overlap(hm.IndexingMap.identity([4]).image([(2, 3)])).value is False
    assert DEVICES.overlap(last).reason == "the element may be on different devices"
    rest = DEVICES.image() - own.image()
    assert not rest.exact and rest.reason == "elements on other devices are not subtracted"


def test_unknown_stays_unknown() -> None:
    assert UNKNOWN.image().reason == UNKNOWN.simplify().reason == (UNKNOWN - ROW).reason
    assert UNDEFINED.image().is_unknown
    assert not OVER.image().exact and not OVER.simplify().exact
    assert (ROW - UNKNOWN).exact is False
    assert (ROW - OVER).reason == "the subtracted set is over-approximate"
    assert len(hm.MapSet([EMPTY]).image()) == len(hm.MapSet([EMPTY]).simplify()) == 0


def test_elements_and_pairs_differ() -> None:
    row = parsed("(d0)[s0] -> (s0), domain: d0 in [0, 2], s0 in [0, 2]")
    own = parsed("(d0) -> (d0), domain: d0 in [0, 2]")
    assert elements(row - own) == {(0,), (1,), (2,)}
    assert len(row.image() - own.image()) == 0
    # Other dims: pairs differ by their points, elements do not.
    other = parsed("(d0, d1) -> (d0 + d1), domain: d0 in [0, 0], d1 in [0, 1]")
    assert str(row.image() - other.image()) == "() -> (2)"
