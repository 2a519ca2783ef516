"""The used part of what is mentioned, judged by running: the elements of inputs that change the output."""

from __future__ import annotations

import lzma

import numpy as np
import pytest
from conftest import CASES, related
from support.mask_programs import random_program

import hlomap as hm
from hlomap.base.dtypes import numpy_dtype

_PARTS = lzma.decompress((CASES / "masks.hlo.xz").read_bytes()).decode().split("// program ")[1:]
PROGRAMS = {name: text for name, _, text in (part.partition("\n") for part in _PARTS)}
"""Masked attention and sums that JAX lowered, by name; the assumption to ask under stands behind the last dot."""
SEEDS = 4

LOOSE = {"layers", "layers_with_masks", "blockwise", "branches", "segments_of_data"}
"""Programs of which more is used than was observed: loops, branches and data decide what matters."""


def observed(module: hm.Module, number: int, expected: np.ndarray | None = None) -> np.ndarray:
    """Which elements of a parameter (columns) change which of the output (rows), with any of several inputs.

    It ends where just what is expected was seen.
    """
    parameters = module.entry.parameters
    size = parameters[number].shape.n_elements
    found = np.zeros((module.entry.root.shape.n_elements, size), bool)
    for seed in range(SEEDS):
        if seed and expected is not None and (found == expected).all():
            break
        rng = np.random.default_rng(seed)
        types = [numpy_dtype(p.shape.dtype) for p in parameters]
        inputs = [rng.normal(size=p.shape.dimensions).astype(to) for p, to in zip(parameters, types, strict=True)]
        before = np.asarray(hm.execute(module, *inputs)).astype(np.float64).reshape(-1)
        for k in range(size):
            changed = [x.copy() for x in inputs]
            step = rng.choice([-1, 1]) * rng.uniform(0.5, 2) * (1 + 3 * (seed % 2))
            changed[number].reshape(-1)[k] += types[number].type(step)
            after = np.asarray(hm.execute(module, *changed)).astype(np.float64).reshape(-1)
            found[:, k] |= (after != before) & ~(np.isnan(after) & np.isnan(before))
    return found


def sees_one_key(used: hm.Slice) -> np.ndarray:
    """Which elements of the output are one element of the values: the softmax of one score is 1, whatever it is."""
    parameters = used.start.module.entry.parameters
    root = used.start
    if len(parameters) != 3:
        return np.zeros(root.shape.n_elements, bool)
    values = parameters[2]
    return related(used[values], (), root.shape, values.shape, {}).sum(1) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_used_is_what_changes_the_output(name: str) -> None:
    module, assume = hm.parse(PROGRAMS[name]), name.rpartition(".")[2]
    root = module.entry.root
    used = hm.backward_slice(root, used=True, assume=assume)
    for parameter in module.entry.parameters:
        maps = used.get(parameter, hm.MapSet())
        assert not maps.is_unknown, maps.reason
        found = related(maps, (), root.shape, parameter.shape, {})
        seen = observed(module, parameter.parameter_number or 0, found)
        assert not (seen & ~found).any(), "an element that changes the output is left out"
        rows = ~sees_one_key(used)
        is_tight = name.partition(".")[0] not in LOOSE
        assert not is_tight or (seen == found)[rows].all(), "an element that changes nothing is used"


def test_a_mask_that_all_layers_share_is_known_in_each() -> None:
    module = hm.parse(PROGRAMS["layers.finite"])
    x, _ = module.entry.parameters
    (m,) = hm.backward_slice(module.entry, used=True)[x]
    assert m.in_domain([1, 0], [1, 0]) and not m.in_domain([1, 0], [2, 0])


def test_indices_behind_a_copy_of_what_is_known() -> None:
    """The rule that leaves out what cannot matter is not the one by which values move."""
    module = hm.parse("""HloModule m
      ENTRY e {
        x = f32[9] parameter(0)
        i = s32[4] constant({7,7,1,1})
        c = s32[4] copy(i)
        n = s32[4] negate(c)
        m = s32[4] negate(n)
        k = s32[4] copy(m)
        ROOT g = f32[4] gather(x, k), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=1, slice_sizes={1}
      }""")
    expected = "(d0) -> ((d0 floordiv 2) * -6 + 7), domain: d0 in [0, 3]"
    for used in (False, True):
        assert str(hm.backward_slice(module.entry, used=used)["x"]) == expected


def test_an_infinity_behind_a_map_is_not_a_zero() -> None:
    module = hm.parse("""HloModule m
      f { a = f32[] parameter(0)
        ROOT n = f32[] negate(a) }
      ENTRY e {
        x = f32[4] parameter(0)
        z = f32[] constant(inf)
        zs = f32[4] broadcast(z), dimensions={}
        m = f32[4] map(zs), dimensions={0}, to_apply=f
        ROOT r = f32[4] multiply(m, x)
      }""")
    assert str(hm.backward_slice(module.entry, used=True)["x"]) == "(d0) -> (d0), domain: d0 in [0, 3]"


def test_another_assumption_is_an_error() -> None:
    module = hm.parse("ENTRY e { p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }")
    with pytest.raises(ValueError, match='expected assume="finite" or assume="masks", got \'none\''):
        hm.backward_slice(module.entry, used=True, assume="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="assume='masks' needs used=True"):
        hm.backward_slice(module.entry, assume="masks")
    assert hm.output_to_input(module.entry)[0].assumes is None
    assert hm.output_to_input(module.entry, used=True)[0].assumes == hm.backward_slice(module.entry, used=True).assumes


def test_a_row_that_is_masked_as_a_whole_uses_its_values_evenly() -> None:
    """With a large negative number in place of an infinite one, the softmax of such a row is even."""
    module = hm.parse("""HloModule m
      max { a = f32[] parameter(0)
        b = f32[] parameter(1)
        ROOT r = f32[] maximum(a, b) }
      ENTRY e {
        v = f32[3] parameter(0)
        c = f32[] constant(-1e30)
        scores = f32[2,3] broadcast(c), dimensions={}
        low = f32[] constant(-inf)
        most = f32[2] reduce(scores, low), dimensions={1}, to_apply=max
        mosts = f32[2,3] broadcast(most), dimensions={0}
        less = f32[2,3] subtract(scores, mosts)
        powers = f32[2,3] exponential(less)
        ROOT r = f32[2] dot(powers, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      }""")
    used = hm.backward_slice(module.entry, used=True, assume="masks")
    assert str(used["v"]) == "(d0)[s0] -> (s0), domain: d0 in [0, 1], s0 in [0, 2]"


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_whatever_changes_the_output_of_random_programs_is_used(start: int) -> None:
    n_mentioned = n_used = 0
    for seed in range(start, start + 20):
        module = hm.parse(random_program(seed))
        root = module.entry.root
        every = hm.backward_slice(root)
        used = hm.backward_slice(root, used=True)
        for number, parameter in enumerate(module.entry.parameters):
            mentioned, found = (
                related(maps.get(parameter, hm.MapSet()), (), root.shape, parameter.shape, {}) for maps in (every, used)
            )
            assert not (observed(module, number, found) & ~found).any(), seed
            assert not (found & ~mentioned).any(), seed
            n_mentioned, n_used = n_mentioned + mentioned.sum(), n_used + found.sum()
    assert n_used < n_mentioned


def test_a_loop_that_two_calls_reach_has_the_values_of_both() -> None:
    """The calls pass the lengths 1 and 4 to the loop, whose body masks by the length."""
    module = hm.parse("""HloModule m
      body { s = (s32[], f32[6], f32[6], s32[]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        x = f32[6] get-tuple-element(s), index=1
        y = f32[6] get-tuple-element(s), index=2
        n = s32[] get-tuple-element(s), index=3
        one = s32[] constant(1)
        k = s32[] add(i, one)
        j = s32[6] iota(), iota_dimension=0
        ns = s32[6] broadcast(n), dimensions={}
        q = pred[6] compare(j, ns), direction=LT
        z = f32[6] select(q, x, y)
        ROOT r = (s32[], f32[6], f32[6], s32[]) tuple(k, x, z, n) }
      condition { s = (s32[], f32[6], f32[6], s32[]) parameter(0)
        i = s32[] get-tuple-element(s), index=0
        n = s32[] constant(3)
        ROOT r = pred[] compare(i, n), direction=LT }
      first { x = f32[6] parameter(0)
        n = s32[] parameter(1)
        i = s32[] constant(0)
        zero = f32[] constant(0)
        y = f32[6] broadcast(zero), dimensions={}
        t = (s32[], f32[6], f32[6], s32[]) tuple(i, x, y, n)
        w = (s32[], f32[6], f32[6], s32[]) while(t), condition=condition, body=body
        ROOT r = f32[6] get-tuple-element(w), index=2 }
      ENTRY e {
        x = f32[6] parameter(0)
        n1 = s32[] constant(1)
        n4 = s32[] constant(4)
        a = f32[6] call(x, n1), to_apply=first
        b = f32[6] call(x, n4), to_apply=first
        ROOT r = f32[6] add(a, b)
      }""")
    used = hm.backward_slice(module.entry, used=True)["x"]
    found = related(used, (), module.entry.root.shape, module.entry["x"].shape, {})
    seen = observed(module, 0)
    assert (seen == np.diag([True] * 4 + [False] * 2)).all() and not (seen & ~found).any()
