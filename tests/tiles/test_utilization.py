"""Utilization against an enumeration of all reads, and examples."""

from __future__ import annotations

import itertools
import random
from math import prod

import numpy as np
import pytest
from support.moving_programs import DTYPES, random_program

import hlomap as hm
from hlomap.maps.enumerate_pairs import enumerate_pairs


@pytest.mark.parametrize("seed", range(200))
def test_counts_of_random_programs(seed: int) -> None:
    module = hm.parse(random_program(random.Random(seed), DTYPES[seed % len(DTYPES)]))
    (record,) = hm.utilization(module.entry)
    shape, output = record.instruction.shape, module.entry.root.shape
    n_reads, reached = 0, set()
    for m in hm.output_to_input(module.entry)[0]:
        _, targets = enumerate_pairs(m, output.dimensions, shape.dimensions, {}, 1 << 22)
        n_reads += len(targets)
        reached |= set(targets.tolist())
    distinct = len(reached)
    assert record.exact, record
    assert (record.touched.lower, record.touched.upper) == (n_reads, n_reads), str(module)
    assert (record.distinct.lower, record.distinct.upper) == (distinct, distinct), str(module)
    assert record.n_elements == prod(shape.dimensions)
    assert record.bytes == -(-distinct * shape.element_bits // 8)
    assert record.fraction == (distinct / record.n_elements if record.n_elements else 0)


EXAMPLES = [
    # text, then for each operand: reads, elements, fraction, exact
    (
        """p = f32[10] parameter(0)  q = f32[20] parameter(1)  c = f32[30] concatenate(p, q), dimensions={0}
        ROOT s = f32[10] slice(c), slice={[0:10]}""",
        [(10, 10, 1.0, True), (0, 0, 0.0, True)],
    ),
    (
        """p = f32[8] parameter(0)  a = f32[4] slice(p), slice={[0:4]}  b = f32[4] slice(p), slice={[2:6]}
        ROOT c = f32[4] add(a, b)""",
        [(8, 6, 0.75, True)],
    ),
    (
        """p = f32[8] parameter(0)  a = f32[4] slice(p), slice={[0:4]}  b = f32[3] slice(p), slice={[5:8]}
        ROOT t = (f32[4], f32[3]) tuple(a, b)""",
        [(7, 7, 0.875, True)],
    ),
    (
        """p = f32[9] parameter(0)  z = f32[] constant(0)
        a = f32[7] reduce-window(p, z), window={size=3}, to_apply=add
        ROOT b = f32[5] reduce-window(a, z), window={size=3}, to_apply=add""",
        [(45, 9, 1.0, True)],
    ),
    (
        """p = (f32[4], bf16[6]) parameter(0)  a = f32[4] get-tuple-element(p), index=0
        ROOT b = f32[2] slice(a), slice={[0:2]}""",
        [(2, 2, 0.2, True)],
    ),
    (
        """p = f32[30] parameter(0)  i = s32[] parameter(1)
        ROOT s = f32[12] dynamic-slice(p, i), dynamic_slice_sizes={12}""",
        [(12, 12, 0.4, True), (12, 1, 1.0, True)],
    ),
    (
        """p = f32[10,4] parameter(0)  i = s32[3] parameter(1)
        ROOT g = f32[3,4] gather(p, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
          index_vector_dim=1, slice_sizes={1,4}""",
        [(12, 12, 0.3, False), (12, 3, 1.0, True)],
    ),
    (
        """x = f32[4,80] parameter(0)  u = f32[1,80] parameter(1)  i = s32[] parameter(2)  z = s32[] constant(0)
        ROOT d = f32[4,80] dynamic-update-slice(x, u, i, z)""",
        [(240, 240, 0.75, True), (80, 80, 1.0, True), (320, 1, 1.0, True)],
    ),
    (
        """x = f32[4,8] parameter(0)  u = f32[2,3] parameter(1)  i = s32[] parameter(2)  j = s32[] parameter(3)
        ROOT d = f32[4,8] dynamic-update-slice(x, u, i, j)""",
        [(26, 26, 26 / 32, True), (6, 6, 1.0, True), (32, 1, 1.0, True), (32, 1, 1.0, True)],
    ),
    ("p = f32[0] parameter(0)  ROOT n = f32[0] negate(p)", [(0, 0, 0.0, True)]),
    (
        """p = f32[1099511627776,4194304] parameter(0)
        ROOT s = f32[1099511627776,2] slice(p), slice={[0:1099511627776], [3:5]}""",
        [(2**41, 2**41, 2.0**-21, True)],
    ),
]


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_examples(text: str, expected: list[tuple[int, int, float, bool]]) -> None:
    add = "add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT s = f32[] add(x, y) }\n"
    found = hm.utilization(hm.parse(f"{add if 'to_apply' in text else ''}ENTRY e {{ {text} }}").entry)
    counts = [(r.touched.upper, r.distinct.upper, r.fraction, r.exact) for r in found]
    assert counts == expected
    assert all(r.exact is (r.reason is None) for r in found)
    assert all(r.touched.exact and r.distinct.exact for r in found if r.exact)


def test_unknown_operands_have_bounds_and_a_reason() -> None:
    module = hm.parse('ENTRY e { p = f32[8] parameter(0)  ROOT c = f32[8] custom-call(p), custom_call_target="x" }')
    (record,) = hm.utilization(module.entry)
    assert (record.distinct.lower, record.distinct.upper, record.bytes) == (0, 8, 32)
    assert not record.exact and record.reason and str(record).startswith("p: at most 8 of 8 elements (")


@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_where_nothing_is_enumerated(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = hm.parse(random_program(random.Random(seed), "f32"))
    (exact,) = hm.utilization(module.entry)
    monkeypatch.setattr("hlomap.tiles.utilization._MAX_POINTS", -1)
    (record,) = hm.utilization(module.entry)
    assert record.distinct.lower <= exact.distinct.lower <= record.distinct.upper
    assert record.touched.lower <= exact.touched.lower <= record.touched.upper


WINDOWS = (
    "ROOT d = f32[6,4] dynamic-update-slice(x, u, i, j)",
    "d = f32[6,4] dynamic-update-slice(x, u, i, j)  ROOT s = f32[3,4] slice(d), slice={[3:6],[0:4]}",
    "d = f32[6,4] dynamic-update-slice(x, u, i, o)  ROOT s = f32[5,4] dynamic-slice(d, j, o), "
    "dynamic_slice_sizes={5,4}",
    "d = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}  "
    "e = f32[2,3] dynamic-slice(x, o, j), dynamic_slice_sizes={2,3}  ROOT s = f32[2,3] add(d, e)",
    "d = f32[5,3] dynamic-slice(x, j, o), dynamic_slice_sizes={5,3}  "
    "e = f32[5,3] dynamic-slice(x, o, j), dynamic_slice_sizes={5,3}  ROOT s = f32[5,3] add(d, e)",
)


@pytest.mark.parametrize("body", WINDOWS)
def test_bounds_hold_wherever_windows_are(body: str) -> None:
    head = "x = f32[6,4] parameter(0)  u = f32[2,3] parameter(1)  o = s32[] constant(1)  "

    def records(*offsets: str) -> list[hm.Utilization]:
        text = "".join(f"{name} = s32[] {offset}  " for name, offset in zip("ij", offsets, strict=True))
        return list(hm.utilization(hm.parse(f"ENTRY e {{ {head}{text}{body} }}").entry)[:2])

    bounds = records("parameter(2)", "parameter(3)")
    for i, j in itertools.product(range(-1, 7), repeat=2):
        for record, one in zip(bounds, records(f"constant({i})", f"constant({j})"), strict=True):
            assert one.exact and record.distinct.lower <= one.distinct.lower <= record.distinct.upper, (i, j)
            assert one.touched.lower <= record.touched.upper, (i, j)


def test_wrong_kind() -> None:
    with pytest.raises(TypeError, match=r"hm\.utilization: expected an Instruction"):
        hm.utilization("text")  # type: ignore[arg-type]
    assert np.all([r.exact for r in hm.utilization(hm.parse("ENTRY e { ROOT c = f32[] constant(1) }").entry)])
