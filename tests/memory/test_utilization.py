"""Utilization against an enumeration of all reads, and examples."""

from __future__ import annotations

import itertools
import random
from math import prod

import pytest
from support.inexact import inexact_rows
from support.random_programs import DTYPES, random_moves

import hlomap as hm
from hlomap.maps.enumerate_pairs import enumerate_pairs


@pytest.mark.parametrize("seed", range(200))
def test_counts_of_random_programs(seed: int) -> None:
    module = hm.parse(random_moves(random.Random(seed), DTYPES[seed % len(DTYPES)]))
    (record,) = hm.utilization(module.entry)
    shape, output = record.instruction.shape, module.entry.root.shape
    n_reads, reached = 0, set()
    for m in hm.output_to_input(module.entry)[0]:
        _, targets = enumerate_pairs(m, output.dimensions, shape.dimensions, {}, 1 << 22)
        n_reads += len(targets)
        reached |= set(targets.tolist())
    distinct = len(reached)
    assert record.exact, record
    assert (record.reads.lower, record.reads.upper) == (n_reads, n_reads), str(module)
    assert (record.distinct_elements.lower, record.distinct_elements.upper) == (distinct, distinct), str(module)
    assert record.n_elements == prod(shape.dimensions)
    assert record.distinct_bytes == -(-distinct * shape.element_bits // 8)
    assert record.fraction == (distinct / record.n_elements if record.n_elements else 0)


@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_where_nothing_is_enumerated(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    module = hm.parse(random_moves(random.Random(seed), "f32"))
    (exact,) = hm.utilization(module.entry)
    monkeypatch.setattr("hlomap.memory.utilization._MAX_POINTS", -1)
    (record,) = hm.utilization(module.entry)
    assert record.distinct_elements.lower <= exact.distinct_elements.lower <= record.distinct_elements.upper
    assert record.reads.lower <= exact.reads.lower <= record.reads.upper


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
            reached, n = record.distinct_elements, one.distinct_elements.lower
            assert one.exact and reached.lower <= n <= reached.upper, (i, j)
            assert one.reads.lower <= record.reads.upper, (i, j)


def test_inexact_maps_have_no_lower_bound() -> None:
    with inexact_rows() as module:
        (found,) = hm.utilization(module["c"])
    assert (found.distinct_elements.lower, found.distinct_elements.upper, found.reads.lower) == (0, 48, 0)
    assert (found.exact, found.reason) == (False, "some rows")
