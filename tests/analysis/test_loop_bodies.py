"""The body of a loop with the loop around it: maps over iterations beside those of each iteration by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import at_leaf, leaves, random_value, related, replaced
from support.loop_programs import loops, programs

import hlomap as hm
from hlomap.analysis.loops import fixed_leaves

Values = dict[int, Any]


def _iterations(loop: hm.Instruction, count: int) -> list[Values]:
    """The value of every instruction in each iteration, from a random state."""
    body = loop.attributes["body"]
    state = random_value(loop.operands[0].shape, np.random.default_rng(0))
    for leaf, number in fixed_leaves(loop).items():
        before = np.asarray(at_leaf(state, leaf))
        state = replaced(state, leaf, np.full(before.shape, number, before.dtype))
    found: list[Values] = []
    for _ in range(count):
        values: Values = {}

        def record(instruction: hm.Instruction, value: Any, values: Values = values) -> None:
            values.setdefault(instruction.number, value)

        values[body.parameters[0].number] = state
        state = hm.execute(body, state, on_value=record)
        found.append(values)
    return found


def _outermost(module: hm.Module) -> list[hm.Instruction]:
    return [loop for loop in loops(module) if loop.computation == module.entry]


@pytest.mark.parametrize("part", range(4))
def test_maps_over_iterations_are_those_of_each_iteration(part: int) -> None:
    n_sets = n_solved = 0
    for module in list(programs().values())[part::4]:
        for loop in _outermost(module):
            found = hm.loop(loop)
            n = found.trip_count
            if not isinstance(n, int) or n == 0:
                continue
            iterations = _iterations(loop, n)
            state = found.body.parameters[0]
            for out, shape in leaves(loop.shape):
                plain, over = hm.indexing(found.body, out)[state], found.indexing(out)[state]
                assert (over.exact, over.is_unknown) == (plain.exact, plain.is_unknown)
                n_solved += any(m.runtime for m in plain) and not any(m.runtime for m in over)
                sizes = ",".join(map(str, (*shape.dimensions, n)))
                source = hm.Shape.parse(f"{shape.dtype}[{sizes}]")
                for leaf, target in leaves(loop.shape):
                    if source.n_elements * target.n_elements > 1 << 16 or plain.is_unknown:
                        continue
                    for t, values in enumerate(iterations):
                        whole = related(over, leaf, source, target, values)
                        own = related(plain, leaf, shape, target, values)
                        at_t = whole.reshape(shape.n_elements, n, target.n_elements)[:, t]
                        assert (at_t == own).all(), f"{module.name} {loop.name}: output {out}, leaf {leaf}, t{t}"
                    n_sets += 1
    assert n_sets > 100 and n_solved > 10, (n_sets, n_solved)


def test_a_map_that_no_iteration_has_is_left_out() -> None:
    """The iterations write elements 2 and 3, of which the output of the body has none."""
    loop = hm.parse("""HloModule m
body { s = (s32[], f32[4], f32[2], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4] get-tuple-element(s), index=1
  u = f32[1] get-tuple-element(s), index=3
  one = s32[] constant(1)
  two = s32[] constant(2)
  n = s32[] add(i, one)
  at = s32[] add(i, two)
  y = f32[4] dynamic-update-slice(x, u, at)
  z = f32[2] slice(y), slice={[0:2]}
  ROOT r = (s32[], f32[4], f32[2], f32[1]) tuple(n, x, z, u) }
condition { s = (s32[], f32[4], f32[2], f32[1]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)
  ROOT r = pred[] compare(i, n), direction=LT }
ENTRY e {
  zero = s32[] constant(0)
  x = f32[4] parameter(0)
  y = f32[2] parameter(1)
  u = f32[1] parameter(2)
  t = (s32[], f32[4], f32[2], f32[1]) tuple(zero, x, y, u)
  ROOT w = (s32[], f32[4], f32[2], f32[1]) while(t), condition=condition, body=body
}""").entry.root
    found = hm.loop(loop)
    maps = found.indexing((2,))[found.body.parameters[0]]
    assert [(m.shape_index, str(m)) for m in maps if m.shape_index != (0,)] == [
        ((1,), "(d0, t0) -> (d0), domain: d0 in [0, 1], t0 in [0, 1]"),
    ]
