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


def loop_of(n: int, count: int, *lines: str) -> hm.Instruction:
    """A loop over ``a`` of ``n`` floats: in iteration ``i`` the lines make ``b`` of it."""
    state = f"(s32[], f32[{n}])"
    body = "\n  ".join(lines)
    return hm.parse(f"""
add {{
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT r = f32[] add(p, q)
}}
body {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[{n}] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  {body}
  ROOT r = {state} tuple(next, b)
}}
condition {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant({count})
  ROOT r = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  a = f32[{n}] parameter(0)
  zero = s32[] constant(0)
  s = {state} tuple(zero, a)
  ROOT w = {state} while(s), condition=condition, body=body
}}""")["w"]


def copies(n: int, count: int, *lines: str) -> hm.Instruction:
    """A loop that copies one element of ``a``, ``from`` one offset to another, ``at``; the lines compute these."""
    read = "x = f32[1] dynamic-slice(a, from), dynamic_slice_sizes={1}"
    return loop_of(n, count, *lines, read, f"b = f32[{n}] dynamic-update-slice(a, x, at)")


def around_a_ring(count: int) -> hm.Instruction:
    """Both indices wrap, one iteration apart, so that the maps change their form at 8, 9, 17, 18, ..."""
    wraps = ("from = s32[] remainder(i, nine)", "at = s32[] remainder(next, nine)")
    return copies(9, count, "nine = s32[] constant(9)", *wraps)


def doubling(count: int) -> hm.Instruction:
    """Element 2*k is k for k from 1 on: the value of 2**h has moved h times."""
    offsets = ("at = s32[] multiply(next, two)", "from = s32[] copy(next)")
    return copies(200, count, "two = s32[] constant(2)", *offsets)


def writes(n_windows: int) -> hm.Instruction:
    """An element is copied to so many places, twelve apart."""
    lines = ["x = f32[1] dynamic-slice(a, i), dynamic_slice_sizes={1}"]
    n, before = 12 * (n_windows + 1), "a"
    for k in range(n_windows):
        name = "b" if k == n_windows - 1 else f"b{k}"
        lines += [f"c{k} = s32[] constant({12 * (k + 1)})", f"at{k} = s32[] add(i, c{k})"]
        lines.append(f"{name} = f32[{n}] dynamic-update-slice({before}, x, at{k})")
        before = name
    return loop_of(n, 12, *lines)


def window(size: int) -> hm.Instruction:
    """Every element becomes the sum of so many behind it."""
    sums = f"b = f32[20000] reduce-window(a, z), window={{size={size} pad={size - 1}_0}}, to_apply=add"
    return loop_of(20000, 12, "z = f32[] constant(0)", sums)


@pytest.mark.parametrize(
    ("most", "more"),
    [
        pytest.param(around_a_ring(18), around_a_ring(19), id="phases"),
        pytest.param(doubling(8), doubling(16), id="hops"),
        pytest.param(writes(3), writes(4), id="windows"),
        pytest.param(window(4096), window(4097), id="distances"),
    ],
)
def test_more_than_a_limit_is_over_approximate(most: hm.Instruction, more: hm.Instruction) -> None:
    for loop, is_exact in ((most, True), (more, False)):
        maps = hm.output_to_input(loop, (1,))[0]
        assert maps.exact is is_exact and (is_exact or maps.reason)
        assert hm.loop(loop).carried[1].kind == ("recurrence" if is_exact else "general")
