"""Loops that read their arrays at distances, in closed form for any number of iterations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from conftest import all_cases, related
from support.loop_walks import KINDS, random_loop

import hlomap as hm


def check(seed: int, kinds: Sequence[str] = KINDS) -> tuple[str, int, int]:
    """The kind of a random loop, how many of its two pairs of maps are exact, and the number of iterations."""
    kind, text, count, sets = random_loop(seed, kinds)
    loop = hm.parse(text)["w"]
    assert hm.loop(loop).trip_count == count
    shapes = [loop.shape.tuple_shapes[k] for k in (1, 2)]
    n_exact = 0
    for out, shape in enumerate(shapes):
        backward = hm.output_to_input(loop, (1 + out,))[0]
        all_true = sets[out].reshape(shape.n_elements, -1)
        for leaf, target in enumerate(shapes):
            true = np.split(all_true, [shapes[0].n_elements], axis=1)[leaf]
            forward = hm.input_to_output(loop, (0, 1 + leaf))[1 + out]
            for maps, claimed in (
                (backward, related(backward, (1 + leaf,), shape, target, {})),
                (forward, related(forward, (1 + out,), target, shape, {}).T),
            ):
                where = f"seed {seed}, {kind}: {list(map(str, maps))} of\n{text}"
                assert not (true & ~claimed).any(), f"missing {np.argwhere(true & ~claimed)[0]}: {where}"
                assert maps.exact or maps.reason, where
                if maps.exact:
                    assert not (claimed & ~true).any(), f"too many: {np.argwhere(claimed & ~true)[0]}: {where}"
                n_exact += maps.exact and out == leaf == 0
    return kind, n_exact, count


@pytest.mark.parametrize("part", range(4))
def test_maps_are_those_of_running_on_sets(part: int) -> None:
    """No pair is missing; where exact is claimed, none is too many."""
    found: Counter[str] = Counter()
    for seed in range(50 * part, 50 * part + 50):
        kind, n_exact, _ = check(seed)
        found.update({"exact": n_exact, "all": 2, kind: 1})
    assert found["exact"] > 0.6 * found["all"], found


def test_maps_of_wrapped_offsets_are_those_of_running_on_sets() -> None:
    """An index is one affine function before it wraps around the end, and another one behind; some wrap many times."""
    exact = [check(seed, ["ring"])[1] for seed in range(60)]
    assert sum(exact) > 0.5 * 2 * len(exact), exact


# Cases of tests/cases/ops/while.hlo, with other numbers of iterations.
LONG = [
    "stay_or_shift",
    "stencil_of_three",
    "border_is_kept",
    "rolls_both_ways",
    "star_of_four",
    "copies_around_a_ring",
]


@pytest.mark.parametrize("name", LONG)
def test_many_iterations_cost_nothing(name: str) -> None:
    """As many maps, exact; of a million iterations all that can be reached."""
    case = next(case for case in all_cases() if case.id == f"while:{name}")
    count = re.search(r"constant\((\d+)\)\n  ROOT r = pred", case.text)
    assert count
    sizes = []
    for n in (10, 1000, 10**6):
        text = case.text.replace(count[0], count[0].replace(count[1], str(n)))
        if name == "copies_around_a_ring":  # an array that all iterations write
            text = re.sub(r"(f32\[|nine = s32\[\] constant\()9", rf"\g<1>{n}", text)
        loop = hm.parse(text)["w"]
        maps = hm.output_to_input(loop, (1,))[0]
        assert hm.loop(loop).trip_count == n and maps.exact
        sizes.append(len(maps))
    assert len(set(sizes[1:])) == 1 and max(sizes) <= 5
