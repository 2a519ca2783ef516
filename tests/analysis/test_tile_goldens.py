"""Tiles of single operations and small fusions, with what each reads written out.

The numbers in names are those of a table of cases, most of which other tile analyses reject or get wrong.
"""

from __future__ import annotations

import numpy as np
import pytest

import hlomap as hm

ADD = "add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }\n"
MAX = "max { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] maximum(x, y) }\n"


def tiling(body: str, before: str = ""):  # type: ignore[no-untyped-def]
    return hm.tile(hm.parse(f"HloModule m\n{before}ENTRY e {{\n{body}\n}}").entry)


def box(t, read, candidate, tile, runtime=None):  # type: ignore[no-untyped-def]
    return tuple(map(list, t.box(read, candidate, tile, runtime)))


def legal_sizes(t, k: int = 0, others: list[int] | None = None) -> list[int]:  # type: ignore[no-untyped-def]
    """The legal sizes of one parameter, all others whole."""
    rows = []
    for n in range(1, t.params[k].size + 1):
        rows.append([n if i == k else p.size for i, p in enumerate(t.params)] if others is None else [n, *others])
    return [row[k] for row, legal in zip(rows, t.evaluate(rows)["legal"], strict=True) if legal]


def test_01_dot_tiles_its_contracted_dimension() -> None:
    t = tiling("""a = f32[11,17,19] parameter(0)
      b = f32[11,19,23] parameter(1)
      ROOT d = f32[11,17,23] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},
        rhs_contracting_dims={1}""")
    assert [(p.size, p.kind) for p in t.params] == [
        (11, "parallel"),
        (17, "parallel"),
        (23, "parallel"),
        (19, "sequential"),
    ]
    assert [p.origin for p in t.params] == [(t.root, 0), (t.root, 1), (t.root, 2), (t.root, 0)]
    left, right = t.reads
    assert str(left.offsets) == "(Expr('tid_t0 * ts_t0'), Expr('tid_t1 * ts_t1'), Expr('tid_t3 * ts_t3'))"
    assert list(map(str, left.sizes)) == ["ts_t0", "ts_t1", "ts_t3"]
    assert list(map(str, right.sizes)) == ["ts_t0", "ts_t3", "ts_t2"]
    assert box(t, left, [2, 4, 8, 5], [1, 2, 1, 3])[:3] == ([2, 8, 15], [2, 4, 5], [1, 1, 1])


def test_02_reshape_that_splits_a_dimension() -> None:
    t = tiling("p = f32[1,8,6,4] parameter(0)\nROOT r = f32[48,4] reshape(p)")
    assert legal_sizes(t) == [1, 2, 3, 6, 12, 18, 24, 30, 36, 42, 48]
    assert [c[0] for c in t.candidates("pow2").tolist() if c[1] == 4 and t.evaluate([c])["legal"][0]] == [1, 2, 48]
    assert box(t, 0, [12, 2], [1, 1]) == ([0, 2, 0, 2], [1, 2, 6, 2], [1, 1, 1, 1], [0, 2, 0, 0], [1, 4, 6, 4])


@pytest.mark.parametrize(("sizes", "stride"), [((4, 8, 6), 1), ((1, 8, 1), 6), ((2, 1, 1), 48), ((2, 8, 1), 6)])
def test_03_reshape_that_merges_dimensions(sizes: tuple[int, int, int], stride: int) -> None:
    t = tiling("p = f32[192,4] parameter(0)\nROOT r = f32[4,8,6,4] reshape(p)")
    found = t.box(0, [*sizes, 4], [0, 0, 0, 0])
    assert t.evaluate([[*sizes, 4]])["legal"][0]
    assert (found.size[0], found.stride[0]) == (sizes[0] * sizes[1] * sizes[2], stride)
    at = [0, 0, 0, 0, *sizes, 4]
    assert t.reads[0].strides[0].substitute(dims=at).value == stride


def test_04_reshape_of_both() -> None:
    t = tiling("p = f32[12,4] parameter(0)\nROOT r = f32[4,12] reshape(p)")
    candidates = t.candidates("dense")
    legal = candidates[t.evaluate(candidates)["legal"]].tolist()
    assert sorted(legal) == sorted([*([a, b] for a in range(1, 5) for b in (1, 2, 4, 12)), [1, 8]])


def test_05_three_digits() -> None:
    t = tiling("p = f32[3,5,7] parameter(0)\nROOT r = f32[105] reshape(p)")
    assert legal_sizes(t) == [1, 7, 35, 70, 105]


def test_06_slice() -> None:
    t = tiling("p = f32[99,199] parameter(0)\nROOT s = f32[10,21] slice(p), slice={[40:60:2], [20:104:4]}")
    assert box(t, 0, [3, 5], [1, 2]) == ([46, 60], [3, 5], [2, 4], [40, 20], [60, 104])
    assert list(map(str, t.reads[0].upper)) == ["60", "104"]


def test_07_reverse() -> None:
    t = tiling("p = f32[179] parameter(0)\nROOT r = f32[179] reverse(p), dimensions={0}")
    read = t.reads[0]
    assert str(read.offsets[0]) == "-(tid_t0 * ts_t0) - ts_t0 + 179" and read.reversed == (True,)
    assert box(t, 0, [32], [5]) == ([-13], [32], [1], [0], [179])
    for candidate, tile in (([2.5], [0]), ([32], [0.5]), (["32"], [0]), ([-1], [0]), ([32], [2**63])):
        with pytest.raises((TypeError, ValueError)):
            box(t, 0, candidate, tile)
    with pytest.raises(ValueError, match="below 2"):
        t.evaluate(np.array([[2**64 - 1]], np.uint64))
    assert t.evaluate([[32]])["legal"][0]


def test_08_concatenate() -> None:
    t = tiling("""a = f32[5] parameter(0)
      b = f32[11] parameter(1)
      c = f32[17] parameter(2)
      ROOT d = f32[33] concatenate(a, b, c), dimensions={0}""")
    assert [box(t, k, [8], [0])[0][0] for k in range(2)] == [0, -5]
    bounds = [(str(r.offsets[0]), str(r.lower[0]), str(r.upper[0])) for r in t.reads]
    assert bounds == [
        ("tid_t0 * ts_t0", "0", "5"),
        ("tid_t0 * ts_t0 - 5", "0", "11"),
        ("tid_t0 * ts_t0 - 16", "0", "17"),
    ]
    assert legal_sizes(t) == list(range(1, 34))


def test_09_pad() -> None:
    t = tiling("p = f32[4,4] parameter(0)\nz = f32[] constant(0)\nROOT r = f32[8,8] pad(p, z), padding=2_2x1_3")
    read = next(r for r in t.reads if r.operand == 0)
    assert box(t, read, [4, 4], [0, 0]) == ([-2, -1], [4, 4], [1, 1], [0, 0], [4, 4])
    assert box(t, read, [2, 4], [3, 0])[1] == [0, 0]


def test_10_dynamic_slice() -> None:
    t = tiling("""p = s32[2,2,258] parameter(0)
      a = s32[] parameter(1)
      b = s32[] parameter(2)
      c = s32[] parameter(3)
      ROOT d = s32[1,2,32] dynamic-slice(p, a, b, c), dynamic_slice_sizes={1,2,32}""")
    read = next(r for r in t.reads if r.operand == 0)
    assert [(v.lower, v.upper) for v in read.map.runtime] == [(0, 1), (0, 226)]
    assert box(t, read, [1, 2, 8], [0, 0, 3], {0: 1, 1: 100}) == (
        [1, 0, 124],
        [1, 2, 8],
        [1, 1, 1],
        [1, 0, 100],
        [2, 2, 132],
    )
    assert str(read.upper[2]) == "rt1 + 32"


def test_11_gather() -> None:
    t = tiling("""p = f32[33,76,70] parameter(0)
      i = s32[1806,2] parameter(1)
      ROOT g = f32[1806,7,8,4] gather(p, i), offset_dims={1,2,3}, collapsed_slice_dims={}, start_index_map={0,1},
        index_vector_dim=1, slice_sizes={7,8,4}""")
    assert len(t.params) == 4
    assert t.evaluate([[1, 7, 8, 4], [2, 7, 8, 4], [1, 2, 3, 4]])["legal"].tolist() == [True, False, True]
    assert "runtime_varies_in_tile" in t.explain([2, 7, 8, 4])
    read = t.reads[0]
    assert [(v.lower, v.upper) for v in read.map.runtime] == [(0, 26), (0, 68)]
    assert box(t, read, [1, 2, 3, 4], [9, 1, 2, 0], {"rt0": 5, "rt1": 6})[:2] == ([7, 12, 0], [2, 3, 4])


def test_12_reduce_tiles_its_reduced_dimension() -> None:
    t = tiling(
        "p = f32[125,150] parameter(0)\nz = f32[] constant(0)\n"
        "ROOT r = f32[150] reduce(p, z), dimensions={0}, to_apply=add",
        ADD,
    )
    assert [(p.size, p.kind) for p in t.params] == [(150, "parallel"), (125, "sequential")]
    assert list(map(str, t.reads[0].sizes)) == ["ts_t1", "ts_t0"]


def test_13_difference_to_the_maximum_of_a_row() -> None:
    t = tiling(
        """p = f32[2,97] parameter(0)
      z = f32[] constant(-inf)
      m = f32[2] reduce(p, z), dimensions={1}, to_apply=max
      b = f32[2,97] broadcast(m), dimensions={0}
      ROOT d = f32[2,97] subtract(p, b)""",
        MAX,
    )
    table = t.evaluate([[1, 10, 97]])
    assert table["grid"][0] == 20
    assert table["read_bytes"].tolist() == [[776, 7760]] and table["distinct_bytes"].tolist() == [[776, 776]]
    assert (table["read_bytes"].sum() / 776).item() == 11


def test_14_dot() -> None:
    t = tiling("""a = f32[4,8] parameter(0)
      b = f32[8,16] parameter(1)
      ROOT d = f32[4,16] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}""")
    table = t.evaluate([[2, 2, 8]])
    assert table["grid"][0] == 16
    assert table["read_bytes"].tolist() == [[1024, 1024]] and table["reread"].tolist() == [[8.0, 2.0]]


def test_15_two_dimensions_are_split() -> None:
    t = tiling("p = f32[1,8,6,4,8] parameter(0)\nROOT r = f32[48,32] reshape(p)")
    assert t.evaluate([[6, 8], [6, 7], [12, 16], [4, 8]])["legal"].tolist() == [True, False, True, False]
    assert len(t.legal) == 2


def test_16_a_size_beyond_the_dimension_counts_as_the_dimension() -> None:
    t = tiling("p = f32[20] parameter(0)\nROOT r = f32[4,5] reshape(p)")
    assert box(t, 0, [1, 8], [2, 0]) == ([10], [5], [1], [10], [15])
    assert t.evaluate([[1, 8]])["legal"][0]


def test_17_slice_of_a_split_dimension() -> None:
    t = tiling("""p = f32[1,8,6,4] parameter(0)
      r = f32[48,4] reshape(p)
      ROOT s = f32[5,4] slice(r), slice={[18:43:5], [0:4]}""")
    assert legal_sizes(t) == [1]


def test_18_reduce_of_a_concatenation() -> None:
    t = tiling(
        """a = f32[10,8] parameter(0)
      b = f32[20,8] parameter(1)
      c = f32[30,8] concatenate(a, b), dimensions={0}
      z = f32[] constant(0)
      ROOT r = f32[8] reduce(c, z), dimensions={0}, to_apply=add""",
        ADD,
    )
    read = next(r for r in t.reads if r.operand == 1)
    found = t.box(read, [4, 30], [1, 0])
    rows = [x for x in range(found.offset[0], found.offset[0] + found.size[0]) if found.lower[0] <= x < found.upper[0]]
    assert rows == list(range(20)) and (found.offset[1], found.size[1]) == (4, 4)
    assert t.evaluate([[4, 30], [3, 7]])["legal"].all()


def test_19_broadcast_then_flattened() -> None:
    t = tiling("p = f32[8] parameter(0)\nb = f32[8,6] broadcast(p), dimensions={0}\nROOT r = f32[48] reshape(b)")
    assert [t.box(0, [4], [k]).size[0] for k in range(3)] == [1, 2, 1]
    assert t.evaluate([[4], [5], [10], [11]])["legal"].all()
    assert t.evaluate([[4]])["tile_bytes"][0, 0] == 8


def test_20_digits_that_a_tile_cuts() -> None:
    t = tiling("""p = f32[8,12] parameter(0)
      s = f32[8,6] slice(p), slice={[0:8], [0:12:2]}
      ROOT r = f32[48] reshape(s)""")
    assert not t.evaluate([[4]])["legal"][0] and t.evaluate([[6]])["legal"][0]
    assert box(t, 0, [3], [1])[:3] == ([0, 6], [1, 3], [1, 2])


def test_21_bytes_of_a_column_major_operand() -> None:
    t = tiling("""a = bf16[1024,2048]{0,1} parameter(0)
      b = bf16[2048,128]{1,0} parameter(1)
      ROOT d = bf16[1024,128]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}""")
    table = t.evaluate(
        [[32, 128, 2048], [16, 128, 2048]], limits=hm.Limits(max_shared_bytes=65536 + 2048 * 128 * 2), stages=1
    )
    assert table["tile_bytes"][:, 0].tolist() == [131072, 65536]
    assert table["run_bytes"][0, 0] == 64
    assert table["legal"].tolist() == [False, True]
    assert str(table.reason(0)).startswith("shared_memory")


def test_22_window() -> None:
    t = tiling(
        "p = f32[10] parameter(0)\nz = f32[] constant(0)\n"
        "ROOT w = f32[8] reduce-window(p, z), window={size=3}, to_apply=add",
        ADD,
    )
    table = t.evaluate([[4, 3]])
    assert box(t, 0, [4, 3], [1, 0])[:3] == ([4], [6], [1])
    assert table["legal"][0] and (table["read_bytes"][0, 0], table["distinct_bytes"][0, 0]) == (48, 40)


def test_23_outputs_that_agree() -> None:
    t = tiling("""p = f32[36] parameter(0)
      a = f32[36] abs(p)
      r = f32[3,12] reshape(a)
      ROOT t = (f32[3,12], f32[36]) tuple(r, a)""")
    table = t.evaluate([[1, 16], [1, 8], [2, 12], [1, 6]])
    assert table["legal"].tolist() == [True, False, True, True]
    assert str(table.reason(1)).startswith("outputs_disagree")
    assert [box(t, t.writes[1], [1, 16], [k, 0])[0] for k in range(3)] == [[0], [12], [24]]


@pytest.mark.parametrize(
    ("sizes", "efficiency"), [((1, 1), 1 / 64), ((1, 16), 1 / 4), ((4, 16), 1.0), ((6, 16), 3 / 4)]
)
def test_24_efficiency_of_runs(sizes: tuple[int, int], efficiency: float) -> None:
    t = tiling("p = s8[256,16]{1,0} parameter(0)\nROOT n = s8[256,16]{1,0} negate(p)")
    table = t.evaluate([sizes], device=hm.Device(sector_bytes=64))
    assert table["efficiency"][0, 0] == efficiency


def test_scatter_looks_up_rows_of_updates_by_a_sequential_parameter() -> None:
    t = tiling(
        """p = f32[5,4] parameter(0)
      i = s32[6,2] parameter(1)
      u = f32[6] parameter(2)
      ROOT s = f32[5,4] scatter(p, i, u), update_window_dims={}, inserted_window_dims={0,1},
        scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add""",
        ADD,
    )
    (updates,) = (r for r in t.reads if r.operand == 2)
    assert [(p.size, p.kind) for p in t.params] == [(5, "parallel"), (4, "parallel"), (6, "sequential")]
    assert [str(e) for v in updates.map.runtime for e in v.element] == ["d2", "0", "d2", "1"]
    assert t.evaluate([[5, 4, 6], [1, 1, 1]])["grid"].tolist() == [1, 20]


def test_rule_4_quotient_and_remainder_together() -> None:
    """``(d + b) floordiv 6`` and ``(d + b) mod 6``, by the shift ``b``."""

    def both(shift: int) -> list[int]:
        return [
            n
            for n in legal_sizes(
                tiling(f"""p = f32[20,6] parameter(0)
      r = f32[120] reshape(p)
      ROOT s = f32[72] slice(r), slice={{[{shift}:{shift + 72}]}}""")
            )
            if n < 24
        ]

    assert both(0) == [1, 2, 3, 6, 12, 18]
    assert both(3) == [1, 3]


@pytest.mark.parametrize(
    ("body", "read"),
    [
        (
            "p = f32[99] parameter(0)\nROOT s = f32[10] slice(p), slice={[40:60:2]}",
            "p[(tid_t0*ts_t0)*2 + 40 : +ts_t0 by 2]",
        ),
        (
            "p = f32[9] parameter(0)\nROOT r = f32[9] reverse(p), dimensions={0}",
            "p[-(tid_t0*ts_t0) - ts_t0 + 9 : +ts_t0 by -1]",
        ),
        ("p = f32[9,5] parameter(0)\nROOT s = f32[9,1] slice(p), slice={[0:9], [3:4]}", "p[tid_t0*ts_t0 : +ts_t0, 3]"),
        (
            "p = f32[9,5] parameter(0)\ni = s32[] parameter(1)\n"
            "ROOT s = f32[2,5] dynamic-slice(p, i, i), dynamic_slice_sizes={2,5}",
            "p[tid_t0*ts_t0 + rt0 : +ts_t0, tid_t1*ts_t1 : +ts_t1]",
        ),
    ],
)
def test_reads_print_as_slices(body: str, read: str) -> None:
    assert str(tiling(body).reads[0]) == read


DOT = """a = bf16[2048,1024] parameter(0)
  b = bf16[1024,4096] parameter(1)
  ROOT d = bf16[2048,4096] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"""


@pytest.mark.parametrize("limits", [None, "triton"])
def test_a_device_refuses_what_does_not_fit_it(limits: str | None) -> None:
    """By the shared memory of a block, and by the registers, which hold what is not there."""
    candidates = [[128, 128, 64], [1024, 1024, 1], [64, 64, 1024], [64, 64, 512]]
    table = tiling(DOT).evaluate(candidates, device="H100", limits=limits)
    assert table["legal"].tolist() == [True, False, False, False]
    assert [text.split(":")[0] for text in table.refused] == ["shared_memory", "registers"]
    assert list(table.refused.values()) == [2, 1]
    # 64 KiB of 228 KiB of shared memory, 32 KiB of 256 KiB of registers: three blocks.
    assert (table["occupancy"][0], table["waves"][0], table["tail"][0]) == (3, 2, 512 - 3 * 132)
    assert tiling(DOT).evaluate(candidates[2:], device="b200", stages=1)["legal"].tolist() == [False, True]


def test_shared_memory_has_room_for_powers_of_two() -> None:
    """Triton rounds every size up, that of a whole dimension as well."""
    t = tiling(DOT.replace("1024", "1000"))
    smem = [t.evaluate([[16, 16, 1000]], limits=limits)["smem_bytes"][0] for limits in (None, "triton")]
    assert smem == [2 * 32 * 1000 * 2, 2 * 32 * 1024 * 2]


def test_threads_are_all_cores_or_as_many_as_asked_for() -> None:
    t = tiling(DOT)
    candidates = t.candidates("pow2")
    assert t.evaluate(candidates, threads=0) == t.evaluate(candidates)
    with pytest.raises(ValueError, match=r"expected 0 \(all cores\) or more as `threads`, got -1"):
        t.evaluate(candidates, threads=-1)
    with pytest.raises(ValueError, match=r"as `stages`, got 0$"):
        t.evaluate(candidates, stages=0)


def test_explain_shows_a_tile_that_reads() -> None:
    text = """x = f32[16] parameter(0)
      a = f32[8] slice(x), slice={[8:16]}
      b = f32[8] slice(x), slice={[0:8]}
      ROOT r = f32[16] concatenate(a, b), dimensions={0}"""
    t = tiling(text)
    lines = t.explain([8]).splitlines()
    assert [line for line in lines if "read " in line and "tile" in line] == [
        "  read 0: x [8], 32 bytes a tile,",
        "  read 1: x [8], 32 bytes a tile,",
    ]
    assert "legal" in t.explain([5])


def test_names_of_devices_have_any_case() -> None:
    names = ["v100", "a6000", "a100", "a100-80gb", "l40s", "h100", "h200", "b200", "mi300x"]
    for name in names:
        assert hm.Device.named(name.upper()).name == name
    assert hm.Limits.named("Triton") == hm.Limits.named("triton")


CHAIN = """ENTRY e {
  x = f32[8,16] parameter(0)
  v = f32[16,4] parameter(1)
  w = f32[4,6] parameter(2)
  c = f32[8,4] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT d = f32[8,6] dot(c, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}"""


def test_maps_have_all_parameters() -> None:
    """Also those that they do not use, and so have the expressions of a read."""
    t = hm.tile(hm.parse(CHAIN).entry)
    domain = "d0 in [0, 7], d1 in [0, 5], d2 in [0, 3], d3 in [0, 15]"
    assert [str(read.map) for read in (*t.reads, *t.writes)] == [
        f"(d0, d1, d2, d3) -> ({results}), domain: {domain}" for results in ("d0, d3", "d3, d2", "d2, d1", "d0, d1")
    ]
    at = [5, 7, 11, 13, 1, 2, 3, 4]
    values = [[e.substitute(dims=at).value for e in read.offsets] for read in t.reads]
    assert values == [[5 * 1, 13 * 4], [13 * 4, 11 * 3], [11 * 3, 7 * 2]]


def test_parameters_are_told_apart() -> None:
    """Two contractions of one size are two parameters, although their maps are equal."""
    t = hm.tile(
        hm.parse("""ENTRY e {
          x = f32[8,8] parameter(0)
          a = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          b = f32[8,8] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT d = f32[8,8] add(a, b)
        }""").entry
    )
    assert [str(read) for read in t.reads] == [
        f"x[tid_t{i}*ts_t{i} : +ts_t{i}, tid_t{j}*ts_t{j} : +ts_t{j}]" for i, j in [(0, 2), (2, 1), (0, 3), (3, 1)]
    ]


def test_variables_of_rules_may_have_any_name() -> None:
    """Also those by which compiled code knows its parameters."""
    m = hm.IndexingMap.parse(
        "(d0, d1)[parameter1, parameter0] -> (d0 + parameter1, parameter0), domain: d0 in [0, 7], d1 in [0, 5], "
        "parameter1 in [0, 3], parameter0 in [0, 15], d1 + parameter1 in [0, 6]"
    )
    text = """ENTRY e {
      q = f32[11,16] parameter(0)
      x = f32[8,6] custom-call(q), custom_call_target="names"
      y = f32[6,4] parameter(1)
      ROOT d = f32[8,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
    }"""
    hm.register_rule("names", lambda *_: [m])
    try:
        read, _ = hm.tile(hm.parse(text).entry).reads
    finally:
        hm.unregister_rule("names")
    domain = "d0 in [0, 7], d1 in [0, 3], d2 in [0, 5], d3 in [0, 3], d4 in [0, 15], d2 + d3 in [0, 6]"
    assert str(read.map) == f"(d0, d1, d2, d3, d4) -> (d0 + d3, d4), domain: {domain}"


def test_an_array_that_tiles_may_read_whole_has_no_other_reads() -> None:
    """Its maps exceeded the budget, which is why it is not exact."""
    n = 140
    pieces = [f"s{i} = f32[1,8] slice(x), slice={{[{i}:{i + 1}], [0:8]}}" for i in range(n)]
    text = f"""ENTRY e {{
      p = f32[{n},8] parameter(0)
      x = f32[{n},8] negate(p)
      {" ".join(pieces)}
      c = f32[{n},8] concatenate({", ".join(f"s{n - 1 - i}" for i in range(n))}), dimensions={{0}}
      y = f32[{n},8] add(c, p)
      ROOT d = f32[8,8] dot(y, y), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
    }}"""
    reads = hm.tile(hm.parse(text).entry).reads
    assert len(reads) == 1 and not reads[0].is_exact_map
