"""Frontiers, bounds of the time and records of tilings, beside numbers by hand."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from support.random_programs import random_tiled

import hlomap as hm

DOT = """ENTRY e {
  a = bf16[4096,1024] parameter(0)
  b = bf16[1024,4096] parameter(1)
  ROOT d = bf16[4096,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""
MIB = 1 << 20


def test_the_frontier_of_a_product_lies_above_the_classical_bound() -> None:
    """2 M N K / sqrt(S) elements must be read with room for S."""
    f = hm.tile(hm.parse(DOT).entry).frontier()
    for size, by_hand, bound in [(228 << 10, 232, 223), (MIB, 128, 122), (8 * MIB, 72, 64)]:
        row = f.at(size)
        assert row is not None and f.moved_bytes[row] == by_hand * MIB and f.on_chip_bytes[row] <= size
        assert 2 * (2 * 4096**2 * 1024 / sqrt(size / 2) + 4096**2) // MIB == bound
    assert (np.diff(f.on_chip_bytes) > 0).all() and (np.diff(f.moved_bytes) < 0).all()
    assert f.moved_bytes[-1] == f.floor_bytes == 48 * MIB
    assert f.at(1) is None


def test_the_frontier_is_that_of_all_sizes() -> None:
    """No size of a small parameter is left out that would move fewer bytes."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        t = hm.tile(random_tiled(rng).entry)
        sizes = [max(1, p.size) for p in t.params]
        if np.prod(sizes) > 4000:
            continue
        f = t.frontier()
        rows = np.array(list(product(*(range(1, n + 1) for n in sizes))), np.int64).reshape(-1, len(sizes))
        table = t.evaluate(rows)
        moved = table["read_bytes"].sum(axis=1) + table["write_bytes"]
        for i in np.flatnonzero(table["legal"])[::7]:
            row = f.at(int(table["live_bytes"][i]))
            assert row is not None and f.moved_bytes[row] <= moved[i], f"{rows[i]}\n{t}"


def test_frontiers_print_and_draw() -> None:
    f = hm.tile(hm.parse(DOT).entry).frontier("H100")
    assert "316    342   1  shared memory of h100" in str(f)
    assert "again" in hm.draw(f).svg and "232,448" in str(hm.draw(f))


def test_time_at_least_has_quantized_tiles_and_waves() -> None:
    t = hm.tile(hm.parse(DOT).entry)
    flops, device = (
        2 * 4096**2 * 1024,
        hm.Device(n_multiprocessors=10, dram_bytes_per_second=10**13, f16_flops_per_second=10**15),
    )
    times = t.time_at_least([[4096, 4096, 1024], [1024, 1024, 1024], [3000, 4096, 600]], device)
    # One tile on one of 10 multiprocessors; 16 tiles in 2 rounds; 2 tiles of 3000 rows, 2 steps of 600.
    expected = [flops / 10**14, flops / 16 * 2 / 10**14, flops / 10**14 * 3000 / 4096 * 1200 / 1024]
    assert np.allclose(times, expected)
    slow = hm.Device(n_multiprocessors=10, dram_bytes_per_second=10**9)
    assert np.allclose(t.time_at_least([[64, 64, 64]], slow), 48 * MIB / 10**9)
    assert np.allclose(t.time_at_least([[4096, 4096, 1024]], device, flops=4 * flops), 4 * flops / 10**14)
    with pytest.raises(hm.errors.UnsupportedError, match="dram_bytes_per_second"):
        t.time_at_least([[64, 64, 64]], hm.Device())


@pytest.mark.parametrize(
    ("body", "flops"),
    [
        ("p = f32[6,4] parameter(0)\nROOT n = f32[6,4] negate(p)", 24),
        # 5 outputs of 3 taps, two of which lie in the padding.
        (
            "p = f32[1,5,2] parameter(0)\nw = f32[3,2,7] parameter(1)\n"
            "ROOT c = f32[1,5,7] convolution(p, w), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f",
            2 * (5 * 3 - 2) * 2 * 7,
        ),
        (
            "a = f32[4,5] parameter(0)\nb = f32[5,6] parameter(1)\nc = f32[6,3] parameter(2)\n"
            "d = f32[4,6] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
            "ROOT e = f32[4,3] dot(d, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
            2 * (4 * 5 * 6 + 4 * 6 * 3),
        ),
    ],
)
def test_flops_are_those_of_cost(body: str, flops: int) -> None:
    assert hm.tile(hm.parse(f"ENTRY e {{\n{body}\n}}").entry).features()["flops"] == flops


def test_columns_of_cost() -> None:
    module = hm.parse("ENTRY e { p = f32[6,4] parameter(0)  q = f32[6,4] add(p, p)  ROOT n = f32[6,4] exponential(q) }")
    t = hm.tile(module.entry)
    device = hm.Device("d", n_multiprocessors=2, dram_bytes_per_second=10**12, f32_flops_per_second=100)
    names = ["flops", "transcendentals", "recomputed", "time_at_least"]
    table = t.evaluate([[2, 4], [6, 4]], device=device, columns=names)
    assert list(table.rows()) == [dict(zip(names, (24, 24, 1.0, 0.24), strict=True))] * 2
    assert not any(table[name].flags.writeable for name in names)
    assert "flops" not in t.evaluate([[2, 4]]).columns
    with pytest.raises(hm.errors.UnsupportedError, match="dram_bytes_per_second"):
        t.evaluate([[2, 4]], columns=["time_at_least"])


def test_features_are_flat() -> None:
    record = hm.tile(hm.parse(DOT).entry).features()
    assert all(isinstance(value, (int, float, bool, str)) for value in record.values())
    assert (record["flops"], record["read0_reuse"], record["read1_run_bytes"]) == (2 * 4096**2 * 1024, 4096, 8 * MIB)
    assert (record["read_bytes"], record["write_bytes"], record["n_parallel"]) == (16 * MIB, 32 * MIB, 2)
