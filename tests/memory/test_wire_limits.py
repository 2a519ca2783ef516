"""No number of bytes between devices that is not proved: damaged groups, parts of programs, shared computations."""

from __future__ import annotations

from typing import Any

import pytest

import hlomap as hm
from hlomap.guard.figures import figures

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
HEAD = f"HloModule m, num_partitions=8, is_scheduled=true\n{ADD}"
SUM = "replica_groups={{0,1,2,3,4,5,6,7}}, channel_id=1, use_global_device_ids=true, to_apply=add"


def limit(subject: Any, **limits: Any) -> Any:
    return hm.check(subject, **limits).limits[0]


@pytest.mark.parametrize("groups", ["mesh['x'=2,'y'=4] {'z'}", "foo", '"abc"', "{{0,1},{2,x}}"])
def test_groups_that_cannot_be_read(groups: str) -> None:
    text = HEAD + f"ENTRY e {{ p = f32[8] parameter(0)\n ROOT r = f32[8] all-reduce(p), {SUM} }}"
    module = hm.parse(text.replace("{{0,1,2,3,4,5,6,7}}", groups))
    assert limit(module, max_wire_bytes=10**9).status == "unknown"
    assert isinstance(hm.collectives(module).wire_bytes, hm.Unknown)


@pytest.mark.parametrize("pairs", ["{{0,1,2}}", "{{0}}", "{0,1}"])
def test_pairs_that_are_no_pairs(pairs: str) -> None:
    operation = f"collective-permute(p), source_target_pairs={pairs}, channel_id=1"
    module = hm.parse(f"{HEAD}ENTRY e {{ p = f32[8] parameter(0)\n ROOT r = f32[8] {operation} }}")
    assert limit(module, max_wire_bytes=10**9).status == "unknown" and hm.explain(module["r"]).notes


SPLIT = """HloModule m, num_partitions=2
f { x = f32[8,16] parameter(0)  ROOT n = f32[8,16] negate(x) }
ENTRY e {
  a = f32[8,16] parameter(0), sharding=SHARDING
  b = f32[16,8] parameter(1)
  c = f32[8,16] call(a), to_apply=f
  ROOT d = f32[8,8] dot(c, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, sharding={replicated}
}"""


@pytest.mark.parametrize("sharding", ["{devices=[1,2]<=[2]}", "{maximal device=0}"])
def test_any_part_of_a_module_that_is_not_partitioned(sharding: str) -> None:
    module = hm.parse(SPLIT.replace("SHARDING", sharding))
    for subject in (module, module["d"], module["c"], module.computation("f")):
        assert limit(subject, max_wire_bytes=10**9).status == "unknown"
        assert isinstance(hm.collectives(subject).wire_bytes, hm.Unknown)
    assert isinstance(hm.cost(module["d"]).wire_bytes, hm.Unknown)
    whole = hm.parse(SPLIT.replace("SHARDING", "{replicated}"))
    assert hm.collectives(whole).wire_bytes == 0


BODY = f"""f {{ a = f32[64] parameter(0)  b = f32[64] negate(a)  c = f32[64] copy(b)
  ROOT q = f32[64] all-reduce(c), {SUM} }}
"""
FUSED = "f { a = f32[64] parameter(0)  b = f32[64] negate(a)  ROOT c = f32[64] negate(b) }\n"
RUNS = {
    "call": (BODY, "g = f32[64] call(p), to_apply=f"),
    "async-start": (
        BODY,
        "s = ((f32[64]), f32[64], u32[]) async-start(p), calls=f\n g = f32[64] async-done(s), calls=f",
    ),
    "call-start": (BODY, "s = ((f32[64]), f32[64], u32[]) call-start(p), to_apply=f\n g = f32[64] call-done(s)"),
    "fusion": (FUSED, "g = f32[64] fusion(p), kind=kLoop, calls=f"),
    "fusion-start": (
        FUSED,
        "s = ((f32[64]), f32[64], u32[]) fusion-start(p), kind=kLoop, calls=f\n g = f32[64] fusion-done(s)",
    ),
}


def figures_of(run: str) -> tuple[Any, ...]:
    body, lines = RUNS[run]
    module = hm.parse(f"{HEAD}{body}ENTRY e {{ p = f32[64] parameter(0)\n {lines}\n ROOT r = f32[64] negate(g) }}")
    report = hm.cost(module)
    counts = [limit(module, max_count={opcode: 0}, executed=True).found for opcode in ("copy", "negate", "all-reduce")]
    found = limit(module, max_wire_bytes=0).found, limit(module, max_bytes=0).found
    wire = hm.collectives(module).wire_bytes
    times = module.computation("f").times
    return (
        report.flops,
        report.distinct_bytes,
        report.bytes_written,
        *found,
        wire,
        figures(module).wire_bytes,
        times,
        *counts,
    )


def test_work_that_runs_asynchronously_is_the_same_work() -> None:
    assert figures_of("call") == figures_of("async-start") == figures_of("call-start")
    assert figures_of("call")[5:] == (448, 448, 1, 1, 2, 1)
    assert figures_of("fusion") == figures_of("fusion-start")


UPDATES = {
    "dynamic-update-slice": ("p, u, i", "f32[1024]", ""),
    "scatter": (
        "p, j, u",
        "f32[1024]",
        "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
        "to_apply=add",
    ),
}


@pytest.mark.parametrize("opcode", UPDATES)
def test_an_update_in_place_runs_asynchronously(opcode: str) -> None:
    operands, shape, attributes = UPDATES[opcode]
    bound = ", ".join(
        {"p": "f32[1024]", "u": "f32[8]", "i": "s32[]", "j": "s32[8,1]"}[name] for name in operands.split(", ")
    )
    given = "p = f32[1024] parameter(0)  u = f32[8] parameter(1)  i = s32[] parameter(2)  j = s32[8,1] parameter(3)"
    more = f", {attributes}" if attributes else ""
    plain = f"{HEAD}ENTRY e {{ {given}\n ROOT r = {shape} {opcode}({operands}){more} }}"
    start = f"s = (({bound}), {shape}, u32[]) {opcode}-start({operands}){more}\n ROOT r = {shape} {opcode}-done(s)"
    device = hm.Device("d", dram_bytes_per_second=1)
    found = [hm.cost(hm.parse(text), device) for text in (plain, f"{HEAD}ENTRY e {{ {given}\n {start} }}")]
    assert len({(one.distinct_bytes, one.bytes_written, one.time_at_least) for one in found}) == 1
    assert found[0].bytes_written == 32


def test_a_permutation_in_place_may_replace_a_part() -> None:
    text = (
        HEAD
        + """ENTRY e {
      p = f32[128,32] parameter(0)  o = f32[128,64] parameter(1)  z = s32[] constant(0)  a = (s32[], s32[]) tuple(z, z)
      ROOT r = f32[128,64] collective-permute(p, o, a, a), source_target_pairs={{0,1}}, slice_sizes={{64,32}},
        channel_id=1
    }"""
    )
    report = hm.cost(hm.parse(text), hm.Device("d", dram_bytes_per_second=1))
    assert report.bytes_written == 128 * 64 * 4 and report.distinct_bytes == 64 * 32 * 4 + 2 * 4
    assert report.time_at_least == report.distinct_bytes, "not all of the array has to be written"
    assert hm.collectives(hm.parse(text)).wire_bytes == 64 * 32 * 4


LOOP = """HloModule m
big { x = f32[1000] parameter(0)  ROOT n = f32[1000] negate(x) }
none { ROOT x = f32[1000] parameter(0) }
ENTRY e { q = pred[] parameter(0)  x = f32[1000] parameter(1)
  ROOT c = f32[1000] conditional(q, x, x), true_computation=big, false_computation=none }"""


def test_the_bound_of_the_time_is_that_of_the_cheapest_branch() -> None:
    report = hm.cost(hm.parse(LOOP), hm.Device("d", dram_bytes_per_second=1))
    assert report.bytes_written == 4000 and report.time_at_least == 0.0


def test_huge_numbers() -> None:
    inner = """one { t = (s32[]) parameter(0)  i = s32[] get-tuple-element(t), index=0  o = s32[] constant(1)
      n = s32[] add(i, o)  WORK ROOT r = (s32[]) tuple(n) }
    """
    test = """less { t = (s32[]) parameter(0)  i = s32[] get-tuple-element(t), index=0
      n = s32[] constant(2147483647)  ROOT l = pred[] compare(i, n), direction=LT }
    """
    run = "z = s32[] constant(0)  s = (s32[]) tuple(z)  w = (s32[]) while(s), condition=less, body="
    deep, last = "", f"x = f32[8] constant({{1,2,3,4,5,6,7,8}})  y = f32[8] all-reduce(x), {SUM} "
    for k in range(40):
        deep += inner.replace("one ", f"b{k} ", 1).replace("WORK", last)
        last = f"{run}b{k} "
    module = hm.parse(f"{HEAD}{test}{deep}ENTRY e {{ {last} ROOT r = s32[] get-tuple-element(w), index=0 }}")
    mesh = hm.hlo.Mesh.parse("mesh['x'=8]")
    table = hm.collectives(module, mesh=mesh, links={"x": 1e9})
    assert table["total_wire_bytes"] == [None] and table["unknown"] != [None]
    assert len(table.to_pandas()) == len(table.to_arrow()) == 1 and table.to_dict() and str(table)
    assert not hm.check(module, max_wire_bytes=10**9)


def test_very_many_devices() -> None:
    text = (
        "HloModule m, replica_count=2147483647\n"
        + ADD
        + ("ENTRY e { p = f32[8] parameter(0)  ROOT r = f32[8] all-reduce(p), replica_groups={}, to_apply=add }")
    )
    module = hm.parse(text)
    assert hm.cost(module).flops == 8 and hm.explain(module["r"]).notes[-1].endswith("over all devices")
    text = text.replace("replica_groups={}", "replica_groups=[2,1099511627776]<=[2199023255552]")
    module = hm.parse(text.replace("replica_count=2147483647", "num_partitions=2").replace(
        "to_apply", "channel_id=1, use_global_device_ids=true, to_apply"))  # fmt: skip
    assert "2 groups of 1,099,511,627,776 devices" in str(hm.collectives(module)[0])


def test_a_computation_that_runs_in_two_ways() -> None:
    run = "s = ((f32[64]), f32[64], u32[]) async-start(p), calls=w\n x = f32[64] async-done(s), calls=w\n"
    call = "y = f32[64] call(p), to_apply=w\n"
    w = f"w {{ a = f32[64] parameter(0)  ROOT q = f32[64] all-reduce(a), {SUM} }}\n"
    for lines in (run + call, call + run):
        module = hm.parse(f"{HEAD}{w}ENTRY e {{ p = f32[64] parameter(0)\n {lines} ROOT r = f32[64] add(x, y) }}")
        found = hm.collectives(module)
        assert found["times"] == [2] and sum(found["total_wire_bytes"]) == 2 * 448 == found.wire_bytes


def test_a_collective_and_more_runs_asynchronously() -> None:
    module = hm.parse(
        f"{HEAD}{BODY}ENTRY e {{ p = f32[64] parameter(0)\n {RUNS['async-start'][1]}\n ROOT r = f32[64] negate(g) }}"
    )
    for name in "sg":
        assert hm.explain(module[name]).notes[-1].endswith("448 wire bytes, 3,584 over all devices")


def test_a_send_without_pairs_of_its_own() -> None:
    text = (
        HEAD
        + """ENTRY e { p = f32[8] parameter(0)  k = token[] after-all()
      s = (f32[8], u32[], token[]) send(p, k), channel_id=1,
        frontend_attributes={_xla_send_recv_source_target_pairs=PAIRS}
      ROOT d = token[] send-done(s), channel_id=1 }"""
    )
    assert hm.collectives(hm.parse(text.replace("PAIRS", "{}"))).wire_bytes == 0
    assert limit(hm.parse(text.replace("PAIRS", '"{{0,1},{1,foo}}"')), max_wire_bytes=10**9).status == "unknown"


def test_groups_of_all_devices_that_do_not_fit() -> None:
    module = hm.parse("HloModule m, replica_count=8\n"
                      "ENTRY e { p = f32[16,4] parameter(0)\n"
                      " ROOT g = f32[64,4] all-gather(p), replica_groups={}, dimensions={0} }")  # fmt: skip
    assert limit(module, max_wire_bytes=10**9).status == "unknown"


def test_a_product_that_runs_asynchronously_is_not_none() -> None:
    module = hm.parse("""ENTRY e { a = f32[3,7] parameter(0)  b = f32[7,5] parameter(1)
      s = ((f32[3,7], f32[7,5]), f32[3,5], u32[]) dot-start(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT d = f32[3,5] dot-done(s) }""")
    assert isinstance(hm.gemm(module["s"]), hm.Unknown)
