"""Map sets: union, composition, containment, difference; and thread maps, which process every element once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.map_pairs import Pair, pairs

import hlomap as hm
from hlomap.maps import subtract


def parsed(text: str) -> hm.IndexingMap:
    return hm.IndexingMap.parse(text)


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
