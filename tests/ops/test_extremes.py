"""Maps of operations on shapes with nearly 2^63 elements or 30 dimensions, without overflow."""

from __future__ import annotations

import pytest

import hlomap as hm

N = 2**62
BIG = 2**63 - 1

ADD = """add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT
}
step {
  x = f32[] parameter(0)
  c = f32[] parameter(1)
  s = f32[] add(x, c)
  ROOT r = (f32[], f32[]) tuple(s, s)
}
"""
ROWS = "offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}"
ALONG = "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"
HITS = f"update_window_dims={{}}, inserted_window_dims={{0}}, {ALONG}"
WINDOWS = f"update_window_dims={{1}}, inserted_window_dims={{}}, {ALONG}"
ONES = ",".join(["1"] * 29)
LISTED = ",".join(map(str, range(30)))

CASES = {
    "gather": (f"f32[{BIG}], s64[2]", f"f32[2] gather(p0, p1), {ROWS}"),
    "gather_far": (f"f32[7], s64[{BIG}]", f"f32[{BIG}] gather(p0, p1), {ROWS}"),
    "scatter": (f"f32[{BIG}], s64[2], f32[2]", f"f32[{BIG}] scatter(p0, p1, p2), {HITS}"),
    "scatter_nothing": (f"f32[{BIG}], s64[2], f32[2,0]", f"f32[{BIG}] scatter(p0, p1, p2), {WINDOWS}"),
    "scatter_windows": (f"f32[{N}], s64[1], f32[1,{N}]", f"f32[{N}] scatter(p0, p1, p2), {WINDOWS}"),
    "sort": (f"f32[{BIG}]", f"f32[{BIG}] sort(p0), dimensions={{0}}, to_apply=less"),
    "topk": (f"f32[{BIG}]", f"(f32[{N}], s32[{N}]) topk(p0), k={N}, largest=true"),
    "fft": (f"c64[{BIG}]", f"c64[{BIG}] fft(p0), fft_type=FFT, fft_length={{{BIG}}}"),
    "cholesky": ("f32[2147483648,2147483648]", "f32[2147483648,2147483648] cholesky(p0), lower=true"),
    "triangular": (
        "f32[2147483648,2147483648], f32[2147483648,2147483648]",
        "f32[2147483648,2147483648] triangular-solve(p0, p1), left_side=false, lower=true, unit_diagonal=true, "
        "transpose_a=TRANSPOSE",
    ),
    "select_and_scatter": (
        f"f32[{N}], f32[{N}], f32[]",
        f"f32[{N}] select-and-scatter(p0, p1, p2), window={{size=3 pad=1_1}}, select=less, scatter=add",
    ),
    "batch_norm": (
        f"f32[2,{N // 2}], f32[2], f32[2]",
        f"(f32[2,{N // 2}], f32[2], f32[2]) batch-norm-training(p0, p1, p2), epsilon=0.1, feature_index=0",
    ),
    "bits": ("u64[2]", f"(u64[2], u32[{BIG}]) rng-bit-generator(p0), algorithm=rng_three_fry"),
    "scan": (
        f"f32[{BIG}], f32[]",
        f"(f32[{BIG}], f32[]) scan(p0, p1), dimensions={{0}}, num_carries=1, to_apply=step",
    ),
    "ragged": (
        f"f32[{N},1], f32[3,1,1], s32[3]",
        f"f32[{N},1] ragged-dot(p0, p1, p2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, "
        "lhs_ragged_dims={0}, rhs_group_dims={0}",
    ),
    "ragged_all_to_all": (
        f"f32[{N}], f32[{N}], s32[2], s32[2], s32[2], s32[2]",
        f"f32[{N}] ragged-all-to-all(p0, p1, p2, p3, p4, p5), replica_groups={{{{0,1}}}}",
    ),
    "all_to_all": (f"f32[{N}]", f"f32[{N}] all-to-all(p0), replica_groups={{{{0,1}}}}, dimensions={{0}}"),
    "gather_30": (
        f"f32[{ONES},5], s32[3]",
        f"f32[{ONES},2,3] gather(p0, p1), offset_dims={{{LISTED}}}, collapsed_slice_dims={{}}, "
        f"start_index_map={{29}}, index_vector_dim=1, slice_sizes={{{ONES},2}}",
    ),
    "sort_30": (f"f32[{ONES},5]", f"f32[{ONES},5] sort(p0), dimensions={{29}}, to_apply=less"),
}


@pytest.mark.parametrize("name", CASES)
def test_maps_of_extreme_shapes(name: str) -> None:
    parameters_text, root_text = CASES[name]
    shapes = hm.Shape.parse(f"({parameters_text})").tuple_shapes
    parameters = "".join(f"  p{i} = {shape} parameter({i})\n" for i, shape in enumerate(shapes))
    root = hm.parse(f"HloModule m\n{ADD}ENTRY e {{\n{parameters}  ROOT r = {root_text}\n}}").entry.root
    outputs = range(len(root.shape.tuple_shapes) or 1)
    assert [maps.reason for i in outputs for maps in hm.output_to_input(root, i) if maps.is_unknown] == []
    operands = range(len(root.operands))
    assert [maps.reason for k in operands for maps in hm.input_to_output(root, k) if maps.is_unknown] == []
    assert {verdict.status for verdict in hm.verify(root)} <= {"unchecked", "exact", "overapproximate"}
