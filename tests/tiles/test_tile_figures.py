"""Every figure of a table of tiles beside the enumeration of every tile, and words beside figures."""

from __future__ import annotations

import os

import numpy as np
import pytest
from support import tile_figures
from support.inexact import inexact_rows
from support.random_programs import random_tiled
from support.tile_matrix import KINDS, entries_of, program

import hlomap as hm

N_FUSIONS = int(os.environ.get("HLOMAP_CASES", "60"))
CUT = entries_of("tile_figures.txt")


@pytest.mark.parametrize("kind", CUT)
def test_figures_of_tiles_that_are_cut_off(kind: str) -> None:
    rng = np.random.default_rng(0)
    for body in CUT[kind]:
        module = program(body)
        assert not (found := tile_figures.faults(module, rng, at_most=12)), "\n".join([str(module), *found])


def test_figures_of_each_kind_of_operation() -> None:
    rng = np.random.default_rng(1)
    for bodies in KINDS.values():
        for body in bodies[:: max(1, len(bodies) // 3)]:
            module = program(body)
            assert not (found := tile_figures.faults(module, rng, at_most=8)), "\n".join([str(module), *found])


def test_figures_of_random_fusions() -> None:
    rng = np.random.default_rng(3)
    for _ in range(N_FUSIONS):
        module = random_tiled(rng)
        assert not (found := tile_figures.faults(module, rng, at_most=6)), "\n".join([str(module), *found])


def test_the_judge_hears() -> None:
    """A table whose figures are one element off, or called exact although they are bounds, is contradicted."""
    t = hm.tile(program(CUT["concatenate"][0]).entry)
    read, candidate = t.reads[0], [7]
    points = tile_figures.oracle.Enumerated(read.map, [33])
    truth = tile_figures.Truth(read, points, candidate)
    table = t.evaluate([candidate])
    row = {name: table[name][0, 0] if table[name].ndim == 2 else table[name][0] for name in table.columns}
    assert not tile_figures.contradictions(row, truth)
    for name in ("tile_bytes", "run_bytes", "read_bytes", "distinct_bytes"):
        assert tile_figures.contradictions({**row, name: row[name] - 4}, truth)
        assert tile_figures.contradictions({**row, name: row[name] + 4, f"{name}_exact": True}, truth)
        assert not tile_figures.contradictions({**row, name: row[name] + 4, f"{name}_exact": False}, truth)


def test_known_indices_are_known_to_tiles() -> None:
    """They are resolved as those of maps are, however the constant gets there."""
    for body in CUT["known indices"]:
        module = program(body)
        for subject in (module.entry, module.entry.root):
            t = hm.tile(subject)
            reads = [read.map for read in t.reads if read.operand == 0]
            assert reads and not any(m is None or m.runtime for m in reads)
            assert {str(m) for m in reads} == {str(m) for m in hm.output_to_input(subject)[0]}
            assert t.evaluate([[1 for _ in t.params]])["legal"].all()


INEXACT = {
    "other devices": """HloModule m, num_partitions=4
ENTRY e {
  p = f32[2,5] parameter(0)
  ROOT g = f32[8,5] all-gather(p), dimensions={0}, replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true
}""",
    "other devices, moved": """HloModule m, num_partitions=2
ENTRY e {
  p = f32[4,3] parameter(0)
  c = f32[4,3] collective-permute(p), source_target_pairs={{0,1}}, channel_id=1
  ROOT t = f32[3,4] transpose(c), dimensions={1,0}
}""",
}


@pytest.mark.parametrize("name", INEXACT)
def test_tiles_across_devices_are_not_exact(name: str) -> None:
    """How much a device reads of its own operand depends on the device."""
    module = hm.parse(INEXACT[name])
    assert hm.output_to_input(module.entry)[0].devices is not None
    check_bounds(hm.tile(module.entry))


def test_tiles_of_inexact_footprints_are_not_exact() -> None:
    with inexact_rows() as module:
        assert not hm.output_to_input(module.entry)[0].exact
        check_bounds(hm.tile(module.entry))


def check_bounds(t: hm.results.Tiling) -> None:
    """Nothing of what such tiles read is called exact."""
    table = t.evaluate([[1 for _ in t.params], [p.size for p in t.params]])
    assert not any(read.exact or read.is_exact_map for read in t.reads)
    for name in ("tile_bytes", "read_bytes", "distinct_bytes", "run_bytes", "waste", "sectors"):
        assert not table[f"{name}_exact"].any(), name
    assert "at most" in t.explain([1 for _ in t.params])


def test_what_does_not_fit_into_64_bits_is_unknown() -> None:
    """No figure is the greatest number of its type; the candidate is refused, with the reason."""
    n = 2**62
    t = hm.tile(
        hm.parse(f"ENTRY e {{ p = f32[{n}] parameter(0)  ROOT r = f32[{n}] reverse(p), dimensions={{0}} }}").entry
    )
    table = t.evaluate([[n], [4]])
    assert table["read_bytes"].tolist() == table["distinct_bytes"].tolist() == [[-1], [-1]]
    assert table["tile_bytes"].tolist() == [[-1], [16]] and not table["read_bytes_exact"].any()
    assert [str(table.reason(i)).split(":")[0] for i in range(2)] == ["overflow"] * 2
    assert "more bytes than fit into 64 bits" in t.explain([n])
    flops = hm.tile(
        hm.parse("""ENTRY e {
      a = f32[4194304,4194304] parameter(0)
      b = f32[4194304,4194304] parameter(1)
      ROOT d = f32[4194304,4194304] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    }""").entry
    )
    table = flops.evaluate([[1, 1, 1]], columns=["flops", "read_bytes", "legal", "time_at_least"], device="h100")
    assert table["flops"].tolist() == [-1] and table["read_bytes"].min() == -1 and not table["legal"].any()
    assert table["time_at_least"][0] > 1e5


def test_runtime_values_that_vary_leave_bounds() -> None:
    module = hm.parse("""ENTRY e {
      p = f32[7,4] parameter(0)
      i = s32[3,1] parameter(1)
      ROOT g = f32[3,2,4] gather(p, i), offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0},
        index_vector_dim=1, slice_sizes={2,4}
    }""")
    t = hm.tile(module.entry)
    table = t.evaluate([[3, 2, 4], [1, 2, 4]])
    assert table["legal"].tolist() == [False, True] and table["tile_bytes"][:, 0].tolist() == [112, 32]
    assert table["tile_bytes_exact"][:, 0].tolist() == [False, True]
    assert "at most 112 bytes a tile" in t.explain([3, 2, 4])
