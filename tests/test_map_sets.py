"""Sets of maps: union, composition, containment; and thread maps, which must have every element once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from conftest import related

import hlomap as hm
from hlomap.containment import contains


def parsed(text: str) -> hm.IndexingMap:
    return hm.IndexingMap.parse(text)


# Outer, inner, whether the first contains the second.
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
    # By points: the range cannot be read off a result.
    ("(d0)[s0] -> (s0 * 2), domain: d0 in [0, 2], s0 in [0, 4]", "(d0) -> (d0 * 4), domain: d0 in [0, 2]", True),
    ("(d0)[s0] -> (s0 * 2), domain: d0 in [0, 2], s0 in [0, 4]", "(d0) -> (d0), domain: d0 in [0, 2]", False),
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 9], d0 - s0 in [0, 9]",
        "(d0)[s0] -> (s0), domain: d0 in [0, 9], s0 in [0, 9], d0 - s0 in [2, 3]",
        True,
    ),
    # Too large for points.
    (
        "(d0)[s0] -> (s0), domain: d0 in [0, 99999], s0 in [0, 99999]",
        "(d0) -> (d0 floordiv 7), domain: d0 in [0, 99999]",
        True,
    ),
    (
        "(d0)[s0] -> (s0 * 3), domain: d0 in [0, 99999], s0 in [0, 99999]",
        "(d0)[s0] -> (s0 * 6), domain: d0 in [0, 99999], s0 in [0, 9]",
        None,
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
]


@pytest.mark.parametrize(("outer", "inner", "expected"), CONTAINED)
def test_containment(outer: str, inner: str, expected: bool | None) -> None:
    assert contains(parsed(outer), parsed(inner)) is expected
    assert hm.MapSet([parsed(outer)]).covers(parsed(inner)) is expected


def test_subsumed_maps_are_dropped() -> None:
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


def test_composition_of_sets_is_that_of_relations() -> None:
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
    with pytest.raises(hm.ShapeError):
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
def test_threads_have_every_element_once(shape: str, grid: dict[str, int]) -> None:
    made = hm.Shape.parse(shape)
    m = hm.thread_map(made, **grid)  # type: ignore[arg-type]
    assert [v.name for v in m.dims] == ["th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z"]
    axes = [np.arange(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
    points = np.stack([axis.reshape(-1) for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    at, over = points[:, :6], points[:, 6:]
    inside = m.in_domain(at, over)
    seen = Counter(map(tuple, m.evaluate(at, over)[inside].tolist()))
    assert seen == Counter({tuple(i): 1 for i in np.ndindex(*made.dimensions)})


def test_thread_maps_compose() -> None:
    module = hm.parse("ENTRY e {\n p = f32[8,64] parameter(0)\n ROOT t = f32[64,8] transpose(p), dimensions={1,0}\n}")
    root = module.entry.root
    (m,) = hm.MapSet([hm.thread_map(root.shape, threads=64)]).then(hm.output_to_input(root)[0])
    assert [str(result) for result in m.results] == ["d0 mod 8", "d0 floordiv 8 + d3 * 8"]


@pytest.mark.parametrize("grid", [{"threads": 0}, {"threads": (1, 1, 1, 1)}, {"per_thread": 0}, {"blocks": -1}])
def test_grids_that_do_not_exist(grid: dict[str, int]) -> None:
    with pytest.raises(hm.ShapeError):
        hm.thread_map(hm.Shape.parse("f32[4]"), **grid)
