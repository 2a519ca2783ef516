"""The methods that maps and sets share: on a map, on the set of this map and on a set of two, against enumeration."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.map_pairs import Pair, all_pairs, elements, pairs
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


def parsed(text: str) -> hm.IndexingMap:
    return hm.IndexingMap.parse(text)


# Two maps, the pairs that both have.
INTERSECTIONS = [
    # Multiples of 6 in [0, 30].
    (
        "()[s0] -> (s0 * 2), domain: s0 in [0, 15]",
        "()[s0] -> (s0 * 3), domain: s0 in [0, 10]",
        ["()[s0] -> (s0 * 6), domain: s0 in [0, 5]"],
    ),
    (
        "(d0) -> (d0), domain: d0 in [0, 9]",
        "(d0) -> (d0), domain: d0 in [5, 14]",
        ["(d0) -> (d0), domain: d0 in [5, 9]"],
    ),
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 9]",
        "(d0) -> (d0 * 2), domain: d0 in [0, 9]",
        ["(d0) -> (d0 * 2), domain: d0 in [0, 3]"],
    ),
    ("(d0) -> (d0), domain: d0 in [0, 9]", "(d0) -> (d0 + 1), domain: d0 in [0, 9]", []),
    ("(d0) -> (d0), domain: d0 in [0, 9]", "(d0) -> KNOWN EMPTY", []),
    # The results do not determine the ranges.
    (
        "(d0) -> (7), domain: d0 in [0, 3]",
        "(d0)[s0, s1] -> (s0 * s1), domain: d0 in [1, 9], s0 in [0, 7], s1 in [0, 7]",
        ["(d0)[s0, s1] -> (7), domain: d0 in [1, 3], s0 in [0, 7], s1 in [0, 7], s0 * s1 in [7, 7]"],
    ),
    # One value of a program, and two.
    (
        "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [0, 3], runtime: rt0 = #1()",
        "(d0){rt0} -> (d0 + rt0), domain: d0 in [4, 9], rt0 in [0, 3], runtime: rt0 = #1()",
        ["(d0){rt0} -> (d0 + rt0), domain: d0 in [4, 9], rt0 in [0, 3], runtime: rt0 = #1()"],
    ),
    (
        "(d0){rt0} -> (d0 + rt0), domain: d0 in [0, 9], rt0 in [0, 3], runtime: rt0 = #1()",
        "(d0){rt0} -> (d0 + rt0), domain: d0 in [4, 9], rt0 in [0, 3], runtime: rt0 = #2()",
        [
            "(d0){rt0, rt1} -> (d0 + rt0), domain: d0 in [4, 9], rt0 in [0, 3], rt1 in [0, 3], rt0 - rt1 in [0, 0], "
            "runtime: rt0 = #1(), rt1 = #2()"
        ],
    ),
]


@pytest.mark.parametrize(("first", "second", "expected"), INTERSECTIONS)
def test_intersections(first: str, second: str, expected: list[str]) -> None:
    found = parsed(first) & parsed(second)
    assert found.exact and [str(m) for m in found] == expected


ROW = parsed("(d0)[s0] -> (d0 * 8 + s0), domain: d0 in [0, 3], s0 in [0, 5]")
OWN = hm.MapSet([parsed("(d0) -> (d0 * 8), domain: d0 in [0, 3]")])
EMPTY = parsed("(d0) -> (d0), domain: d0 in [0, 3], d0 mod 2 in [7, 9]")
OVER = hm.MapSet([ROW], exact=False, reason="a loop")
UNKNOWN = hm.MapSet.unknown("no rule for sort")
UNDEFINED = hm.IndexingMap.undefined([4])
MOST = 2**128 - 1


@pytest.mark.parametrize(("unknown", "reason"), [(UNKNOWN, UNKNOWN.reason), (UNDEFINED, "an undefined map")])
def test_what_is_unknown_is_never_empty(unknown: Subject, reason: str) -> None:
    sets = [unknown.restrict({}), unknown.then(ROW), unknown - ROW, unknown | ROW, ROW | unknown, unknown & unknown]
    if unknown is UNDEFINED:
        assert sets[0] == UNDEFINED.restrict({0: (1, 9)}) or sets[0].is_undefined
        sets[0], sets[1] = hm.MapSet([sets[0]]), hm.MapSet([sets[1]])
    assert all(one.is_unknown and reason in (one.reason or "") for one in sets)
    for found in (unknown & ROW, ROW & unknown, ROW - unknown):
        assert list(found) == [ROW] and not found.exact and found.reason
    answers = [unknown.is_empty(), unknown.is_injective(), unknown.overlap(ROW), unknown.equivalent(ROW)]
    answers += [ROW.covers(unknown), ROW.overlap(unknown), ROW.equivalent(unknown), OWN.equivalent(unknown)]
    answers += [unknown.equivalent(unknown)]
    assert {answer.value for answer in answers} == {None}
    assert unknown.covers(ROW).value is True
    for distinct in (False, True):
        assert (unknown.count(distinct).lower, unknown.count(distinct).upper) == (0, MOST)
    with pytest.raises(hm.errors.MapError):
        unknown.evaluate([[0]])


def test_over_approximate_sets() -> None:
    assert not (OVER & ROW).exact and not (ROW & OVER).exact and (ROW & OVER).reason == "a loop"
    apart = ROW.restrict({0: 0}).image() & hm.MapSet(ROW.restrict({0: 1}).image(), exact=False)
    assert apart.exact and not apart
    assert OVER.is_empty().reason == OVER.equivalent(OVER).reason == "a set is over-approximate: a loop"
    assert OVER.is_injective().value is True
    twice = hm.MapSet([*OVER, *OWN], exact=False)
    assert hm.MapSet(twice).is_injective().value is False and twice.is_injective().value is None
    assert (OVER.count().lower, OVER.count().upper, OVER.count(distinct=True).lower) == (0, 24, 0)
    assert OVER.bounds(0) == ROW.bounds(0)
    # A pair of an exact set that the maps of the other one lack makes a difference, whatever else is not exact.
    assert OVER.equivalent(OWN).value is None and OWN.equivalent(OVER).value is None
    assert hm.MapSet(OWN, exact=False).equivalent(ROW).value is False
    assert hm.MapSet([EMPTY], exact=False).is_empty().value is True


def test_an_empty_set() -> None:
    none = hm.MapSet()
    for empty in (none, EMPTY, hm.MapSet([EMPTY])):
        assert not (empty & ROW) and not (ROW & empty) and not (none - empty) and list(ROW - empty) == [ROW]
        assert empty.is_empty().value and empty.is_injective().value and ROW.covers(empty).value
        assert empty.overlap(UNKNOWN).value is False and empty.equivalent(none).value is True
        assert empty.count().upper == empty.count(distinct=True).upper == 0
        assert empty.equivalent(ROW).value is False and ROW.equivalent(empty).value is False
    assert none.bounds(0) == (0, -1) and isinstance(UNKNOWN.bounds(0), hm.Unknown)
    with pytest.raises(hm.errors.DomainError, match="the set is empty"):
        none.evaluate([[0]])
    assert none.evaluate(np.zeros((0, 1), int)).shape == (0, 0)


WIDE = hm.IndexingMap.identity([4, 4])
FLAT = parsed("(d0) -> (d0, d0), domain: d0 in [0, 3]")


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: hm.MapSet([m])])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("&", lambda a, b: a & b),
        ("-", lambda a, b: a - b),
        ("covers()", lambda a, b: a.covers(b)),
        ("equivalent()", lambda a, b: a.equivalent(b)),
    ],
)
def test_pairs_of_other_dims_or_results(name: str, call: Callable[..., Any], wrap: Callable[..., Any]) -> None:
    dims = f"{name} compares pairs of maps with as many dims, found 1 and 2 dims; compare the elements of a.image() and"
    with pytest.raises(hm.errors.ShapeError, match=re.escape(dims)):
        call(wrap(FLAT), WIDE)
    results = f"{name} compares pairs of maps with as many results, found 1 and 2 results"
    with pytest.raises(hm.errors.ShapeError, match=re.escape(results)):
        call(wrap(FLAT), hm.MapSet([hm.IndexingMap.identity([4])]))
    assert elements(FLAT.image() & WIDE.image()) == {(i, i) for i in range(4)}


@pytest.mark.parametrize("subject", [ROW, OWN])
def test_other_operands(subject: Subject) -> None:
    for call in (lambda: subject & 3, lambda: subject | [ROW], lambda: subject - "d0", lambda: 3 - subject):
        with pytest.raises(TypeError, match="unsupported operand"):
            call()
    with pytest.raises(hm.errors.ShapeError, match="dimension 1 is out of range: the map has 1 dims"):
        subject.restrict({1: 0})
    for wrong in ({"d0": 0}, {0: "all"}, {0: (1, 2, 3)}):
        with pytest.raises(TypeError, match=rf"^hm\.{type(subject).__name__}\.restrict: expected "):
            subject.restrict(wrong)
    assert not hm.MapSet(members(subject.restrict({0: (-(2**70), -(2**69))}))).simplify()
    assert members(subject.restrict({0: (-(2**70), 2**70)})) == members(subject)


def test_arrays_of_a_tuple_are_counted_apart() -> None:
    module = hm.parse("""ENTRY e {
  t = (f32[4], f32[4]) parameter(0)
  a = f32[4] get-tuple-element(t), index=0
  b = f32[4] get-tuple-element(t), index=1
  ROOT s = f32[4] add(a, b)
}""")
    reads = hm.indexing(module.entry)[module["t"]]
    assert len(reads) == 2 and reads.is_injective().value is True
    assert reads.count(distinct=True).lower == reads.count(distinct=True).upper == 8
    assert [len(reads & m) for m in reads] == [1, 1]
    with pytest.raises(hm.errors.MapError, match="several arrays"):
        reads.evaluate([0])


def test_intersections_across_devices() -> None:
    gather = hm.parse("""ENTRY e {
  p = f32[2] parameter(0)
  ROOT g = f32[6] all-gather(p), replica_groups={{0,2,4},{1,3,5}}, dimensions={0}
}""").entry.root
    maps = hm.output_to_input(gather)[0]
    own = hm.MapSet([hm.IndexingMap.identity([2])])
    both = maps & own
    assert not both.exact and both.reason == "the pairs of devices are not known"
    assert both.devices is not None and both.devices.maps.exact and maps.devices is not None
    # The first device of each group reads its own elements; the others read those of the first.
    assert {d for d, _ in all_pairs(both.devices.maps)} == {(i, group, 0) for i in range(2) for group in range(2)}
    assert all_pairs((maps & maps).devices.maps) == all_pairs(maps.devices.maps)  # type: ignore[union-attr]
    assert not (maps & own.restrict({0: 7})) and maps.is_injective().value is None


def test_points_of_several_maps_are_points() -> None:
    """Two maps that reach an element from the same dims do so from two points, as two values of a range do."""
    both = hm.MapSet([*OWN, ROW])
    found = both.is_injective()
    assert found.witness is not None and {found.witness.first.map, found.witness.second.map} == {*both}
    assert both.count().upper == 28 and both.count(distinct=True).upper == 24
    assert Counter(e for _, e in points_of(both))[found.witness.element] == 2
