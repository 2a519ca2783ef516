"""Loops that write the slots of an array in turn, beginning with one that depends on the number of the device."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from conftest import related

import hlomap as hm

N_DEVICES = 4

TEXT = """HloModule turns, replica_count=4
body {
  s = (s32[], f32[ROWS], f32[READ]) parameter(0)
  t = s32[] get-tuple-element(s), index=0
  o = f32[ROWS] get-tuple-element(s), index=1
  x = f32[READ] get-tuple-element(s), index=2
  device = u32[] replica-id()
  c = s32[] convert(device)
  sign = s32[] constant(SIGN)
  factor = s32[] constant(FACTOR)
  start = s32[] constant(START)
  count = s32[] constant(COUNT)
  stride = s32[] constant(STRIDE)
  first = s32[] constant(FIRST)
  one = s32[] constant(1)
  at = s32[] multiply(t, sign)
  by = s32[] multiply(c, factor)
  both = s32[] add(at, by)
  from = s32[] add(both, start)
  slot = s32[] remainder(from, count)
  begin = s32[] multiply(slot, stride)
  row = s32[] add(begin, first)
  u = f32[SIZE] dynamic-slice(x, OFFSET), dynamic_slice_sizes={SIZE}
  p = f32[ROWS] dynamic-update-slice(o, u, row)
  next = s32[] add(t, one)
  ROOT r = (s32[], f32[ROWS], f32[READ]) tuple(next, p, x)
}
condition {
  s = (s32[], f32[ROWS], f32[READ]) parameter(0)
  t = s32[] get-tuple-element(s), index=0
  n = s32[] constant(TIMES)
  ROOT r = pred[] compare(t, n), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  o = f32[ROWS] parameter(0)
  x = f32[READ] parameter(1)
  s = (s32[], f32[ROWS], f32[READ]) tuple(zero, o, x)
  ROOT w = (s32[], f32[ROWS], f32[READ]) while(s), condition=condition, body=body
}
"""


def random_turns(rng: Random) -> tuple[str, bool, list[np.ndarray]]:
    """A loop, whether it writes each slot once, and for each device the elements of both arrays that each row reads."""
    count, stride, first = rng.randint(1, 5), rng.randint(1, 3), rng.choice([0, 0, 1])
    size, sign, factor, start = (
        rng.randint(1, stride),
        rng.choice([1, -1]),
        rng.choice([1, 1, 2, -1]),
        rng.randint(0, 5),
    )
    times = rng.choice([count, count, count, count + 1, max(1, count - 1)])
    rows = first + stride * (count - 1) + rng.randint(size, stride + 2)
    n_read, offset = rows + 3, rng.choice(["row", "t", "first"])
    numbers = {
        "ROWS": rows,
        "READ": n_read,
        "SIGN": sign,
        "FACTOR": factor,
        "START": start + 60 * count,  # so that the dividend is never negative
        "COUNT": count,
        "STRIDE": stride,
        "FIRST": first,
        "SIZE": size,
        "TIMES": times,
    }
    text = TEXT.replace("OFFSET", offset)
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    found = []
    for device in range(N_DEVICES):
        sets = np.eye(rows + n_read, dtype=np.bool_)
        o, x = sets[:rows].copy(), sets[rows:]
        for t in range(times):
            row = first + stride * ((sign * t + factor * device + start) % count)
            at = min({"row": row, "t": t, "first": first}[offset], n_read - size)
            o[row : row + size] = x[at : at + size]
        found.append(o)
    return text, times == count, found


@pytest.mark.parametrize("part", range(2))
def test_maps_are_those_of_running_on_sets(part: int) -> None:
    """No pair is missing on any device; where each slot is written once, none is too many."""
    for seed in range(100 * part, 100 * part + 100):
        text, is_once, sets = random_turns(Random(seed))
        loop = hm.parse(text)["w"]
        shapes = [loop.shape.tuple_shapes[k] for k in (1, 2)]
        backward = hm.output_to_input(loop, (1,))[0]
        for leaf, target in enumerate(shapes):
            forward = hm.input_to_output(loop, (0, 1 + leaf))[1]
            assert backward.exact or not is_once, f"seed {seed}: {backward.reason} of\n{text}"
            assert forward.exact or not is_once, f"seed {seed}: {forward.reason} of\n{text}"
            for device, all_true in enumerate(sets):
                true = np.split(all_true, [shapes[0].n_elements], axis=1)[leaf]
                runtime = [v for maps in (backward, forward) for m in maps for v in m.runtime]
                values = {v.source: device for v in runtime if v.source is not None}
                for maps, claimed in (
                    (backward, related(backward, (1 + leaf,), shapes[0], target, values)),
                    (forward, related(forward, (1,), target, shapes[0], values).T),
                ):
                    where = f"seed {seed}, device {device}: {list(map(str, maps))} of\n{text}"
                    assert not (true & ~claimed).any(), f"missing {np.argwhere(true & ~claimed)[0]}: {where}"
                    if maps.exact:
                        assert not (claimed & ~true).any(), f"too many: {np.argwhere(claimed & ~true)[0]}: {where}"


def test_what_is_read_does_not_depend_on_the_device_if_slots_are_alike() -> None:
    """Each slot of the result of a collective matmul has the same rows, whichever device begins where."""
    numbers = {"ROWS": 8, "READ": 2, "SIGN": -1, "FACTOR": 1, "START": 4, "COUNT": 4, "STRIDE": 2, "FIRST": 0}
    text = TEXT.replace("OFFSET", "first")
    for name, number in {**numbers, "SIZE": 2, "TIMES": 4}.items():
        text = text.replace(name, str(number))
    maps = hm.output_to_input(hm.parse(text)["w"], (1,))[0]
    assert maps.exact
    own, read = [[m for m in maps if m.shape_index == (k,)] for k in (1, 2)]
    assert not own and not any(m.runtime for m in read)
    shapes = hm.parse(text)["w"].shape.tuple_shapes
    assert (related(read, (2,), shapes[1], shapes[2], {}) == (np.arange(8)[:, None] % 2 == np.arange(2))).all()
