"""Thread maps process every element once; questions about sets that are hard to compare end."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from support.map_pairs import points

import hlomap as hm
from hlomap import _core
from hlomap.maps import subtract, union_count


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
    m = hm.layouts.thread_map(made, **grid)  # type: ignore[arg-type]
    assert [v.name for v in m.dims] == ["th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z"]
    seen = Counter(map(tuple, points(m)[1].tolist()))
    assert seen == Counter({tuple(i): 1 for i in np.ndindex(*made.dimensions)})


def hostile_set(n: int, seed: int) -> hm.MapSet:
    """Maps that meet, of which no pair is easy to compare."""
    numbers = random.Random(seed)

    def hostile() -> hm.IndexingMap:
        a, b, c, d = (numbers.randint(2, 99) for _ in range(4))
        results = f"d0 * {a} + d1 * {b} + {numbers.randint(0, 9999)}, (d0 * {c} + d1) mod {50 + d}"
        domain = f"d0 in [0, 99999], d1 in [0, 99999], d0 * {c} - d1 * {d} in [-{a}, {b * a}]"
        return hm.IndexingMap.parse(f"(d0, d1) -> ({results}), domain: {domain}")

    return hm.MapSet([hostile() for _ in range(n)])


def test_counting_many_maps_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the effort the number of distinct elements has bounds; the work does not grow with the pairs that meet."""
    monkeypatch.setattr(union_count, "MAX_WORK", 100)
    compared: list[object] = []
    compare = subtract._subtract_one
    monkeypatch.setattr(subtract, "_subtract_one", lambda m, *more: compared.append(m) or compare(m, *more))
    numbers = random.Random(3)
    lines = [(numbers.randint(1, 5), numbers.randint(0, 3000), numbers.randint(1, 90)) for _ in range(600)]
    domains = [f"(d0) -> (d0 * {k} + {c}), domain: d0 in [0, {n}]" for k, c, n in lines]
    maps = hm.MapSet([hm.IndexingMap.parse(text) for text in domains])
    found, elements = maps.count(distinct=True), {k * i + c for k, c, n in lines for i in range(n + 1)}
    assert not found.exact and found.lower <= len(elements) <= found.upper and len(compared) <= 200
    few = hm.MapSet(list(maps)[:6])
    assert few.count(distinct=True).exact


def test_questions_about_hostile_sets_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once they have compared as many maps as they may, they are not decided; easy ones are, however many maps."""
    monkeypatch.setattr(subtract, "MAX_WORK", 40)
    compared: list[object] = []
    compare = subtract._subtract_one
    monkeypatch.setattr(subtract, "_subtract_one", lambda m, *more: compared.append(m) or compare(m, *more))
    first, second = hostile_set(30, 1), hostile_set(30, 2)
    found = first - second
    assert not found.exact and str(found.reason).endswith(" comparisons of maps")
    assert len(found) == len(first) and 0 < len(compared) <= 40
    assert first.covers(second).value is None and len(compared) <= 80
    assert not (first.image() - second.image()).exact and len(compared) <= 120
    tiles = hm.MapSet([hm.IndexingMap.parse(f"(d0) -> (d0), domain: d0 in [{8 * i}, {8 * i + 7}]") for i in range(30)])
    assert tiles.covers(tiles).value and (tiles - tiles).exact and not tiles - tiles


def test_comparing_sets_has_one_effort() -> None:
    """However many maps are hard to compare with each other, they share the effort of one question."""

    def chain(k: int) -> hm.IndexingMap:
        dims, sides = (", ".join(f"d{i}{side}" for i in range(80)) for side in ("", " in [0, 9]"))
        residues = ", ".join(f"(d{i} + d{i + 1} * 3) mod {5 + k} in [0, 2]" for i in range(79))
        return hm.IndexingMap.parse(f"({dims}) -> (d0), domain: {sides}, {residues}")

    def steps(n: int) -> int:
        first, second = (hm.MapSet([chain(k) for k in range(start, start + n)]) for start in (0, n))
        before, answer = _core._n_steps(), first.covers(second)
        assert answer.value is None and answer.reason == "not decided within the effort for one question"
        return _core._n_steps() - before

    few, many = steps(12), steps(24)
    assert many <= 1.2 * few


def test_injectivity_of_a_set_has_one_effort() -> None:
    """However many maps of a set are hard to decide, they share the effort of one question."""

    def chain(k: int) -> hm.IndexingMap:
        dims, sides = (", ".join(f"d{i}{side}" for i in range(80)) for side in ("", " in [0, 9]"))
        residues = ", ".join(f"(d{i} + d{i + 1} * 3) mod 8 in [0, 2]" for i in range(79))
        sums = ", ".join(f"d{i} + d{i + 1} + {100 * k}" for i in range(79))
        return hm.IndexingMap.parse(f"({dims}) -> ({sums}), domain: {sides}, {residues}")

    def steps(n: int) -> int:
        chains = hm.MapSet([chain(k) for k in range(n)])
        before, answer = _core._n_steps(), chains.is_injective()
        assert answer.value is None and answer.reason == "not decided within the effort for one question"
        return _core._n_steps() - before

    few, many = steps(14), steps(28)
    assert many <= 1.2 * few


def test_a_witness_names_the_maps_of_a_set() -> None:
    texts = [f"(d0) -> ({e}), domain: d0 in [0, 3]" for e in ("d0", "d0 + 9", "-d0 + 12")]
    maps = list(map(hm.IndexingMap.parse, texts))
    assert hm.MapSet(maps[:2]).is_injective()
    found = hm.MapSet(maps).is_injective().witness
    assert found is not None and [str(p.map) for p in (found.first, found.second)] == texts[1:]
    assert all(tuple(p.map.evaluate(p.dims)) == found.element for p in (found.first, found.second))
    # Maps to other arrays come first.
    _, witness, _ = _core._is_injective([maps[:1], maps[:1], maps[1:]])
    assert witness is not None and witness[:2] == (2, 3)


ODD = hm.IndexingMap.parse("(d0) -> (d0 * 2 + 1), domain: d0 in [0, 4]")
LOW = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, 3]")
HIGH = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [4, 9]")
EMPTY = hm.IndexingMap.parse("(d0) -> (d0), domain: d0 in [0, -1]")

WITHOUT_EMPTY = {
    "then": (hm.MapSet([LOW]).then(hm.MapSet([LOW, HIGH])), [LOW]),
    "restrict": (hm.MapSet([LOW, HIGH]).restrict({0: (0, 3)}), [LOW]),
    "image": (hm.MapSet([LOW, HIGH]).image([(0, 3)]), hm.MapSet([LOW]).image()),
    "simplify": (hm.MapSet([LOW, EMPTY]).simplify(), [LOW]),
    "simplify more": (hm.MapSet([LOW, EMPTY, ODD]).simplify(), [LOW, ODD]),
    "intersection": (hm.MapSet([LOW, ODD]) & hm.MapSet([LOW, HIGH]), [LOW]),
    "difference": (hm.MapSet([LOW, HIGH]) - hm.MapSet([HIGH]), [LOW]),
}


@pytest.mark.parametrize("name", WITHOUT_EMPTY)
def test_sets_that_are_made_of_others_have_no_empty_maps(name: str) -> None:
    found, expected = WITHOUT_EMPTY[name]
    assert list(map(str, found)) == list(map(str, expected))
