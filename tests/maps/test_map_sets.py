"""Map sets: union, composition, containment, difference; and thread maps, which process every element once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from conftest import related
from hypothesis import given, settings, strategies as st
from support.map_pairs import Pair, pairs

import hlomap as hm
from hlomap.maps import subtract
from hlomap.maps.set_questions import contains


def parsed(text: str) -> hm.IndexingMap:
    return hm.IndexingMap.parse(text)


# Outer map, inner map, whether the outer contains the inner.
CONTAINED = [
    ("(d0) -> (d0), domain: d0 in [0, 4]", "(d0) -> (d0), domain: d0 in [1, 3]", True),
    ("(d0) -> (d0), domain: d0 in [1, 3]", "(d0) -> (d0), domain: d0 in [0, 4]", False),
    ("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 4]", "(d0) -> (-d0 + 4), domain: d0 in [0, 4]", True),
    ("(d0)[s0] -> (s0), domain: d0 in [0, 4], s0 in [0, 3]", "(d0) -> (-d0 + 4), domain: d0 in [0, 4]", False),
    (
        "(d0)[s0, s1] -> (s0, s1), domain: d0 in [0, 2], s0 in [0, 4], s1 in [0, 4]",
        "(d0)[s0] -> (s0, d0 + s0), domain: d0 in [0, 2], s0 in [0, 2]",
        True,
    ),
    (
        "(d0)[s0] -> (s0, s0), domain: d0 in [0, 2], s0 in [0, 4]",
        "(d0)[s0, s1] -> (s0, s1), domain: d0 in [0, 2], s0 in [0, 1], s1 in [0, 1]",
        False,
    ),
    # By enumeration: no result is the range alone.
    ("(d0)[s0] -> (s0 * 2), domain: d0 in [0, 2], s0 in [0, 4]", "(d0) -> (d0 * 4), domain: d0 in [0, 2]", True),
    ("(d0)[s0] -> (s0 * 2), domain: d0 in [0, 2], s0 in [0, 4]", "(d0) -> (d0), domain: d0 in [0, 2]", False),
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 9], d0 - s0 in [0, 9]",
        "(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 9], d0 - s0 in [2, 3]",
        True,
    ),
    # Too large for enumeration.
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 99999], s0 in [0, 99999]",
        "(d0) -> (d0 floordiv 7), domain: d0 in [0, 99999]",
        True,
    ),
    (
        "(d0)[s0] -> (d0 * 2 + s0 + 1), domain: d0 in [0, 99999], s0 in [0, 9]",
        "(d0)[s0] -> (d0 * 2 + s0 + 3), domain: d0 in [0, 99999], s0 in [0, 7]",
        True,
    ),
    (
        "(d0)[s0] -> (s0 * 3), domain: d0 in [0, 99999], s0 in [0, 99999]",
        "(d0)[s0] -> (s0 * 6), domain: d0 in [0, 99999], s0 in [0, 9]",
        True,
    ),
    (
        "(d0)[s0] -> (-d0 + 99999, s0), domain: d0 in [0, 99999], s0 in [0, 9]",
        "(d0)[s0] -> (d0, s0), domain: d0 in [0, 99999], s0 in [0, 9]",
        False,
    ),
    (
        "(d0)[s0]{rt0} -> (s0, rt0), domain: d0 in [0, 2], s0 in [0, 4], rt0 in [0, 3], runtime: rt0 = #1()",
        "(d0){rt0} -> (d0, rt0), domain: d0 in [0, 2], rt0 in [0, 3], runtime: rt0 = #1()",
        True,
    ),
    (
        "(d0)[s0]{rt0} -> (s0, rt0), domain: d0 in [0, 2], s0 in [0, 4], rt0 in [0, 3], runtime: rt0 = #1()",
        "(d0){rt0} -> (d0, rt0), domain: d0 in [0, 2], rt0 in [0, 3], runtime: rt0 = #2()",
        None,
    ),
    # Equal texts of an index are different values where its variables are.
    (
        "(d0)[s0]{rt0, rt1} -> (s0, rt1), domain: d0 in [0, 6], s0 in [0, 6], rt0 in [0, 6], rt1 in [0, 6], "
        "runtime: rt0 = #1(d0), rt1 = #2(rt0)",
        "(d0){rt0, rt1} -> (d0, rt1), domain: d0 in [0, 6], rt0 in [0, 6], rt1 in [0, 6], "
        "runtime: rt0 = #1(d0), rt1 = #2(rt0)",
        True,
    ),
    (
        "(d0){rt0, rt1, rt2} -> (rt0, rt1, rt2), domain: d0 in [0, 6], rt0 in [0, 6], rt1 in [0, 6], rt2 in [0, 6], "
        "runtime: rt0 = #1(d0), rt1 = #3(d0), rt2 = #2(rt0)",
        "(d0){rt0, rt1, rt2} -> (rt1, rt0, rt2), domain: d0 in [0, 6], rt0 in [0, 6], rt1 in [0, 6], rt2 in [0, 6], "
        "runtime: rt0 = #3(d0), rt1 = #1(d0), rt2 = #2(rt0)",
        None,
    ),
    # Arrays whose elements have no number of 64 bits: modulo 2^64 the second elements are the same.
    (
        "(d0)[s0] -> (s0 * 2, s0 * 4294967295), domain: d0 in [0, 0], s0 in [0, 1]",
        "(d0)[s0] -> (s0 * 4294967298, s0 * 4294967295), domain: d0 in [0, 0], s0 in [0, 1]",
        False,
    ),
]


@pytest.mark.parametrize(("outer", "inner", "expected"), CONTAINED)
def test_containment(outer: str, inner: str, expected: bool | None) -> None:
    assert contains(parsed(outer), parsed(inner)) is expected
    assert hm.MapSet([parsed(outer)]).covers(parsed(inner)).value is expected
    kept = hm.MapSet([parsed(outer), parsed(inner)]).simplify()
    assert expected or parsed(inner).simplify(drop_unused=True) in kept


def test_contained_maps_are_dropped() -> None:
    module = hm.parse("""HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  p = f32[3,5] parameter(0)
  z = f32[] constant(0)
  s = f32[3] reduce(p, z), dimensions={1}, to_apply=add
  b = f32[3,5] broadcast(s), dimensions={0}
  ROOT d = f32[3,5] divide(p, b)
}""")
    found = hm.indexing(module.entry)[module["p"]]
    assert len(found) == 2
    (row,) = found.simplify()
    assert str(row) == "(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 2], d1 in [0, 4], s0 in [0, 4]"
    assert row.use == (module["s"], 0)
    assert found.covers(found) and found.simplify().covers(found)


def test_set_composition_is_relation_composition() -> None:
    module = hm.parse(
        """HloModule m
ENTRY e {
  p = f64[3,4] parameter(0)
  c = f64[5,4] concatenate(p, p), dimensions={0}
  ROOT r = f64[4,5] transpose(c), dimensions={1,0}
}""".replace("[5,4]", "[6,4]").replace("[4,5]", "[4,6]")
    )
    c, root, p = module["c"], module["r"], module["p"].shape
    first, second = hm.output_to_input(root)[0], hm.output_to_input(c)[0] | hm.output_to_input(c)[1]
    both = first.then(second)
    assert both.exact and len(both) == 2
    a = related(first, (), root.shape, c.shape, {}).astype(int)
    b = related(second, (), c.shape, p, {}).astype(int)
    assert ((a @ b > 0) == related(both, (), root.shape, p, {})).all()
    over = hm.MapSet(second, exact=False, reason="more")
    assert not first.then(over).exact and first.then(over).reason == "more"
    assert first.then(hm.MapSet.unknown("who knows")).reason == "who knows"
    assert not hm.MapSet.unknown("who knows").then(hm.MapSet())


def test_restriction() -> None:
    module = hm.parse("ENTRY e {\n p = f32[7] parameter(0)\n ROOT r = f32[7] reverse(p), dimensions={0}\n}")
    found = hm.output_to_input(module.entry.root)[0]
    assert [str(m) for m in found.restrict({0: (2, 3)})] == ["(d0) -> (-d0 + 6), domain: d0 in [2, 3]"]
    assert not found.restrict({0: (8, 9)}) and found.restrict({0: (8, 9)}).exact
    with pytest.raises(hm.errors.ShapeError):
        found.restrict({1: (0, 0)})
    assert hm.MapSet.unknown("no").restrict({0: (0, 1)}).is_unknown


@pytest.mark.parametrize(
    ("shape", "grid"),
    [
        ("f32[10,30]", {"threads": 32, "per_thread": 2}),
        ("f32[7,5]{0,1}", {"threads": (4, 2), "blocks": (2, 1, 2)}),
        ("bf16[3,5]{1,0:T(2,2)}", {"threads": 4, "blocks": 2, "per_thread": 2}),
        ("f32[5]", {"threads": 128}),
        ("f32[]", {"threads": 32}),
        ("f32[61]", {"threads": 3, "blocks": 2, "per_thread": 4}),
    ],
)
def test_threads_process_every_element_once(shape: str, grid: dict[str, int]) -> None:
    made = hm.Shape.parse(shape)
    m = hm.flat_thread_map(made, **grid)  # type: ignore[arg-type]
    assert [v.name for v in m.dims] == ["th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z"]
    axes = [np.arange(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
    points = np.stack([axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    at, over = points[:, :6], points[:, 6:]
    inside = m.in_domain(at, over)
    seen = Counter(map(tuple, m.evaluate(at, over, check=False)[inside].tolist()))
    assert seen == Counter({tuple(i): 1 for i in np.ndindex(*made.dimensions)})


def test_thread_maps_compose() -> None:
    module = hm.parse("ENTRY e {\n p = f32[8,64] parameter(0)\n ROOT t = f32[64,8] transpose(p), dimensions={1,0}\n}")
    root = module.entry.root
    (m,) = hm.MapSet([hm.flat_thread_map(root.shape, threads=64)]).then(hm.output_to_input(root)[0])
    assert [str(result) for result in m.results] == ["d0 mod 8", "d0 floordiv 8 + d3 * 8"]


@pytest.mark.parametrize("grid", [{"threads": 0}, {"threads": (1, 1, 1, 1)}, {"per_thread": 0}, {"blocks": -1}])
def test_invalid_grids(grid: dict[str, int]) -> None:
    with pytest.raises(hm.errors.ShapeError):
        hm.flat_thread_map(hm.Shape.parse("f32[4]"), **grid)


# A map, the subtracted maps, the difference.
DIFFERENCES = [
    ("(d0) -> (d0), domain: d0 in [0, 9]", ["(d0) -> (d0), domain: d0 in [0, 9]"], []),
    (
        "(d0) -> (d0), domain: d0 in [0, 9]",
        ["(d0) -> (d0), domain: d0 in [3, 4]", "(d0) -> (d0 + 1), domain: d0 in [0, 9]"],
        ["(d0) -> (d0), domain: d0 in [0, 2]", "(d0) -> (d0), domain: d0 in [5, 9]"],
    ),
    # The results determine a range as a multiple or as mixed-radix digits.
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 11]",
        ["(d0)[s0] -> (s0 * 3), domain: d0 in [0, 3], s0 in [0, 3]"],
        ["(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [1, 11], s0 mod 3 in [1, 2]"],
    ),
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 11]",
        ["(d0)[s0, s1] -> (s0 * 4 + s1), domain: d0 in [0, 3], s0 in [0, 2], s1 in [0, 2]"],
        ["(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [3, 11], s0 mod 4 in [3, 3]"],
    ),
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 3]",
        ["(d0)[s0] -> (d0 - s0), domain: d0 in [0, 3], s0 in [0, 3], d0 - s0 in [0, 3]"],
        ["(d0)[s0] -> (s0), domain: d0 in [0, 2], s0 in [1, 3], d0 - s0 in [-3, -1]"],
    ),
    # Inside and outside of an update, for each value of the offset.
    (
        "(d0) -> (d0), domain: d0 in [0, 9]",
        ["(d0){rt0} -> (d0), domain: d0 in [0, 9], rt0 in [0, 7], d0 - rt0 in [0, 2], runtime: rt0 = #1()"],
        [
            "(d0){rt0} -> (d0), domain: d0 in [0, 6], rt0 in [0, 7], d0 - rt0 in [-7, -1], runtime: rt0 = #1()",
            "(d0){rt0} -> (d0), domain: d0 in [3, 9], rt0 in [0, 7], d0 - rt0 in [3, 9], runtime: rt0 = #1()",
        ],
    ),
    # An unused range.
    (
        "(d0) -> (d0), domain: d0 in [0, 9]",
        ["(d0)[s0] -> (d0), domain: d0 in [0, 4], s0 in [0, 4]"],
        ["(d0) -> (d0), domain: d0 in [5, 9]"],
    ),
]


@pytest.mark.parametrize(("first", "taken", "expected"), DIFFERENCES)
def test_difference(first: str, taken: list[str], expected: list[str]) -> None:
    left = hm.MapSet([parsed(first)]) - hm.MapSet(map(parsed, taken))
    assert left.exact and [str(m) for m in left] == expected
    assert left - left == hm.MapSet()


def test_difference_keeps_what_it_cannot_subtract_and_gives_a_reason() -> None:
    own = hm.MapSet([parsed("(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 11]")])
    taken = parsed("(d0)[s0, s1] -> (s0 * s1), domain: d0 in [0, 3], s0 in [0, 3], s1 in [0, 3]")
    left = own - taken
    assert list(left) == list(own) and not left.exact
    assert left.reason == "the results of a map do not determine its ranges"
    over = own - hm.MapSet(own, exact=False, reason="a loop")
    assert list(over) == list(own) and over.reason == "the subtracted set is over-approximate"
    assert not (own - hm.MapSet.unknown("no rule")).exact
    assert (hm.MapSet.unknown("no rule") - own).reason == "no rule"
    assert own - hm.MapSet() == own
    several = hm.MapSet([parsed("(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in [0, 7]"), *own.restrict({0: (4, 9)})])
    assert several.covers(own).value is False
    halves = [parsed(f"(d0)[s0] -> (s0), domain: d0 in [0, 3], s0 in {part}") for part in ("[0, 6]", "[7, 11]")]
    assert hm.MapSet(halves).covers(own).value is True
    assert hm.MapSet(halves[1:]).covers(own).value is False


def test_difference_with_too_many_parts() -> None:
    dims = ", ".join(f"d{i}" for i in range(4))
    whole = f"({dims}) -> ({dims}), domain: " + ", ".join(f"d{i} in [0, 99]" for i in range(4))
    holes = [whole.replace("[0, 99]", f"[{k}, {k}]") for k in range(10, 90, 2)]
    left = hm.MapSet([parsed(whole)]) - hm.MapSet(map(parsed, holes))
    assert not left.exact and left.reason == "the difference has more than 64 maps" and len(left) == 1


@st.composite
def small_maps(draw: st.DrawFn) -> hm.IndexingMap:
    n_ranges, n_runtime = draw(st.integers(0, 2)), draw(st.integers(0, 1))
    atoms = [hm.Expr.dim(0), hm.Expr.dim(1)]
    atoms += [hm.Expr.range(i) for i in range(n_ranges)] + [hm.Expr.runtime(i) for i in range(n_runtime)]

    def expression() -> hm.Expr:
        e = hm.Expr.constant(draw(st.integers(0, 3)))
        for atom in draw(st.lists(st.sampled_from(atoms), max_size=2)):
            e = e + atom * draw(st.sampled_from([-2, -1, 1, 1, 2, 3]))
        return e % draw(st.integers(2, 4)) if draw(st.integers(0, 5)) == 0 else e

    bounds = [tuple(sorted((draw(st.integers(0, 4)), draw(st.integers(0, 4))))) for _ in range(2)]
    return hm.IndexingMap(
        bounds,
        [expression() for _ in range(draw(st.sampled_from([2])))],
        ranges=[(0, draw(st.integers(0, 4))) for _ in range(n_ranges)],
        runtime=[hm.Variable(None, 0, 2, source=1, element=[])] * n_runtime,
        constraints=[(expression(), 0, draw(st.integers(0, 4))) for _ in range(draw(st.integers(0, 1)))],
    )


def enumerate_points(maps: Iterable[hm.IndexingMap], value: int) -> set[Pair]:
    """The pairs of maps for a value of their runtime source."""
    return set().union(
        *(pairs(m, (value,) * len(m.runtime)) for m in maps if all(v.lower <= value <= v.upper for v in m.runtime))
    )


@settings(max_examples=120, deadline=None)
@given(st.lists(small_maps(), min_size=1, max_size=2), st.lists(small_maps(), min_size=1, max_size=2))
def test_difference_and_intersection_agree_with_enumeration(
    first: list[hm.IndexingMap], second: list[hm.IndexingMap]
) -> None:
    a, b = hm.MapSet(first), hm.MapSet(second)
    left, common = a - b, a & b
    covers = b.covers(a).value
    lost = False
    for value in range(3):
        kept, removed = (enumerate_points(s, value) for s in (a, b))
        computed = enumerate_points(left, value)
        assert computed == kept - removed if left.exact else kept - removed <= computed <= kept
        lost = lost or bool(kept - removed)
        shared = enumerate_points(common, value)
        assert shared == kept & removed if common.exact else kept & removed <= shared <= kept
    assert covers is not True or not lost
    assert covers is not False or lost


def hostile_set(n: int, seed: int) -> hm.MapSet:
    """Maps that meet, of which no pair is easy to compare."""
    numbers = random.Random(seed)

    def hostile() -> hm.IndexingMap:
        a, b, c, d = (numbers.randint(2, 99) for _ in range(4))
        results = f"d0 * {a} + d1 * {b} + {numbers.randint(0, 9999)}, (d0 * {c} + d1) mod {50 + d}"
        domain = f"d0 in [0, 99999], d1 in [0, 99999], d0 * {c} - d1 * {d} in [-{a}, {b * a}]"
        return hm.IndexingMap.parse(f"(d0, d1) -> ({results}), domain: {domain}")

    return hm.MapSet([hostile() for _ in range(n)])


def test_questions_about_hostile_sets_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they have compared as many maps as they may, they are not decided; easy ones are, however many maps."""
    monkeypatch.setattr(subtract, "_MAX_WORK", 40)
    compared: list[object] = []
    compare = subtract._subtract_one
    monkeypatch.setattr(subtract, "_subtract_one", lambda m, other: compared.append(m) or compare(m, other))
    first, second = hostile_set(30, 1), hostile_set(30, 2)
    found = first - second
    assert not found.exact and found.reason == "the difference takes more than 40 comparisons of maps"
    assert len(found) == len(first) and 0 < len(compared) <= 40
    assert first.covers(second).value is None and len(compared) <= 80
    assert not (first.image() - second.image()).exact and len(compared) <= 120
    tiles = hm.MapSet([hm.IndexingMap.parse(f"(d0) -> (d0), domain: d0 in [{8 * i}, {8 * i + 7}]") for i in range(30)])
    assert tiles.covers(tiles).value and (tiles - tiles).exact and not tiles - tiles


def test_a_union_has_at_most_the_elements_of_a_box() -> None:
    def bounds(maps: list[hm.IndexingMap]) -> tuple[int, int]:
        count = hm.MapSet(maps).count(distinct=True)
        return count.lower, count.upper

    text = "(d0){{rt0}} -> (rt0), domain: d0 in [0, 9], rt0 in [0, 25], runtime: rt0 = #{}(d0)"
    gathers = [parsed(text.format(k)) for k in range(99)]
    assert bounds(gathers) == (1, 26)
    whole = parsed("(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 25]")
    assert bounds([*gathers, whole]) == (26, 26)
    assert bounds([]) == (0, 0)


def test_text_names_the_source_of_a_runtime_value() -> None:
    module = hm.parse("""ENTRY e {
      p = f32[100,8] parameter(0)
      rows = s32[16,1] parameter(1)
      ROOT g = f32[16,8] gather(p, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
        index_vector_dim=1, slice_sizes={1,8}
    }""")
    maps = hm.output_to_input(module.entry)[0]
    assert str(maps).endswith("runtime: rt0 = %rows(d0, 0)") and "%rows(d0, 0)" in repr(maps)
    assert [hm.IndexingMap.parse(str(m)) for m in maps] == list(maps)
