"""One collective, however it is written, has one row and one number in every answer."""

from __future__ import annotations

import re

import pytest

import hlomap as hm
from hlomap.guard.figures import figures

ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
GROUPS = {
    "lists": "{{0,1,2,3},{4,5,6,7}}",
    "iota": "[2,4]<=[8]",
    "iota with T": "[2,4]<=[4,2]T(1,0)",
    "mesh axes": "mesh['x'=2,'y'=4] {'y'}",
}
IDS = "channel_id=1, replica_groups=GROUPS, use_global_device_ids=true"
PLAIN = "channel_id=1, replica_groups=GROUPS"

# operation: shapes of the operands, shapes of the results, attributes, then by hand wire bytes of the busiest device
# and of all 8 devices, in groups of 4.  f32[8,6] has 192 bytes, f32[8,10] has 320.
KINDS: dict[str, tuple[list[str], list[str], str, int, int]] = {
    # 2 * 3/4 * 192
    "all-reduce": (["f32[8,6]"], ["f32[8,6]"], f"{IDS}, to_apply=add", 288, 8 * 288),
    "all-reduce, combined": (["f32[8,6]", "f32[8,10]"], ["f32[8,6]", "f32[8,10]"], f"{IDS}, to_apply=add", 768, 6144),
    # 3 * 192
    "all-gather": (["f32[8,6]"], ["f32[32,6]"], f"{IDS}, dimensions={{0}}", 576, 8 * 576),
    "all-gather, combined": (
        ["f32[8,6]", "f32[8,10]"],
        ["f32[32,6]", "f32[32,10]"],
        f"{IDS}, dimensions={{0}}",
        1536,
        12288,
    ),
    # 3/4 * 192
    "reduce-scatter": (["f32[8,6]"], ["f32[2,6]"], f"{IDS}, dimensions={{0}}, to_apply=add", 144, 8 * 144),
    "all-to-all": (["f32[8,6]"], ["f32[8,6]"], f"{PLAIN}, dimensions={{0}}", 144, 8 * 144),
    "all-to-all, of a tuple": (["f32[2,6]"] * 4, ["f32[2,6]"] * 4, PLAIN, 144, 8 * 144),
    # 192 from the first device of each group, passed on by two more
    "collective-broadcast": (["f32[8,6]"], ["f32[8,6]"], PLAIN, 192, 6 * 192),
    "collective-reduce": (["f32[8,6]"], ["f32[8,6]"], f"{IDS}, to_apply=add", 192, 6 * 192),
    # of 4 pairs one is of a device with itself
    "collective-permute": (
        ["f32[8,6]"],
        ["f32[8,6]"],
        "channel_id=1, source_target_pairs={{0,0},{1,2},{2,3},{3,1}}",
        192,
        3 * 192,
    ),
    "collective-permute, of devices with themselves": (
        ["f32[8,6]"],
        ["f32[8,6]"],
        "channel_id=1, source_target_pairs={{0,0},{5,5}}",
        0,
        0,
    ),
}  # fmt: skip
PAIRED = ("all-reduce", "all-gather", "collective-permute")


def value(shapes: list[str]) -> str:
    return shapes[0] if len(shapes) == 1 else f"({', '.join(shapes)})"


def lines(form: str, kind: str) -> str:
    """The operation on the values p0, p1, ... as the instruction x, or as s and the steps to x."""
    opcode = kind.partition(",")[0]
    operands, results, attributes, *_ = KINDS[kind]
    names = ", ".join(f"p{k}" for k in range(len(operands)))
    result, bound = value(results), ", ".join(operands)
    if form == "synchronous":
        return f"x = {result} {opcode}({names}), {attributes}"
    if form == "start and done" and opcode in PAIRED:
        whole = {
            "all-reduce": result,
            "all-gather": f"({value(operands)}, {result})",
            "collective-permute": f"({value(operands)}, {result}, u32[], u32[])",
        }[opcode]
        return f"s = {whole} {opcode}-start({names}), {attributes}\n  x = {result} {opcode}-done(s)"
    whole = f"(({bound}), {result}, u32[])"
    if form == "start and done":
        return f"s = {whole} {opcode}-start({names}), {attributes}\n  x = {result} {opcode}-done(s)"
    update = f"  u = {whole} async-update(s), calls=wrapped\n" if form == "update" else ""
    return (
        f"s = {whole} async-start({names}), calls=wrapped\n{update}"
        f"  x = {result} async-done({'u' if update else 's'}), calls=wrapped"
    )


def program(form: str, kind: str, groups: str, *, in_loop: bool) -> hm.Module:
    opcode = kind.partition(",")[0]
    operands, results, attributes, *_ = KINDS[kind]
    parameters = "  ".join(f"p{k} = {shape} parameter({k})" for k, shape in enumerate(operands))
    names = ", ".join(f"p{k}" for k in range(len(operands)))
    wrapped = f"wrapped {{ {parameters}  ROOT r = {value(results)} {opcode}({names}), {attributes} }}\n"
    text = "HloModule m, num_partitions=8, is_scheduled=true\n" + ADD + (wrapped if form in ("async", "update") else "")
    work = lines(form, kind)
    if not in_loop:
        text += f"ENTRY e {{\n  {parameters}\n  {work}\n  ROOT y = {value(results)} copy(x)\n}}"
        return hm.parse(text.replace("GROUPS", groups))
    state = f"(s32[], {', '.join(operands)})"
    parts = "\n".join(f"  p{k} = {shape} get-tuple-element(t), index={k + 1}" for k, shape in enumerate(operands))
    names = ", ".join(f"p{k}" for k in range(len(operands)))
    text += f"""body {{
  t = {state} parameter(0)
  i = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
{parts}
  {work}
  ROOT out = {state} tuple(next, {names})
}}
condition {{
  t = {state} parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  {parameters}
  zero = s32[] constant(0)
  first = {state} tuple(zero, {names})
  ROOT w = {state} while(first), condition=condition, body=body
}}"""
    return hm.parse(text.replace("GROUPS", groups))


FORMS = ("synchronous", "start and done", "async", "update")


def moved(module: hm.Module) -> tuple[int | None, ...]:
    report = hm.cost(module)
    return report.flops, report.distinct_bytes, report.bytes_written


SPELLED = [
    pytest.param(kind, groups, id=f"{kind}: {spelling}")
    for kind in KINDS
    for spelling, groups in GROUPS.items()
    if "permute" not in kind or spelling == "lists"
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "groups"), SPELLED)
def test_every_answer_has_the_same_numbers(kind: str, form: str, groups: str) -> None:
    operands, results, _, wire, everyone = KINDS[kind]
    for in_loop, times in ((False, 1), (True, 3)):
        module = program(form, kind, groups, in_loop=in_loop)
        assert not module.diagnostics
        found = hm.collectives(module)
        (row,) = found.rows()
        starts = form != "synchronous"
        expected = {
            "instruction": "s" if starts else "x",
            "done": "x" if starts else None,
            "kind": kind.partition(",")[0],
            "times": times,
            "where": ("loop w",) if in_loop else (),
            "n_operands": len(operands),
            "operand_bytes": sum(hm.Shape.parse(shape).n_elements * 4 for shape in operands),
            "result_bytes": sum(hm.Shape.parse(shape).n_elements * 4 for shape in results),
            "wire_bytes": wire,
            "wire_bytes_all_devices": everyone,
            "total_wire_bytes": wire * times,
            "dtype": "f32",
            "exact": True,
            "unknown": None,
        }
        assert {name: row[name] for name in expected} == expected
        assert found.wire_bytes == wire * times == hm.cost(module).wire_bytes == figures(module).wire_bytes
        assert found.wire_bytes_by_kind == {kind.partition(",")[0]: wire * times}
        assert hm.check(module, max_wire_bytes=wire * times)
        assert not wire or hm.check(module, max_wire_bytes=wire * times - 1).limits[0].found == wire * times
        assert not wire or hm.check(module, max_wire_bytes=wire - 1, executed=False).limits[0].found == wire
        assert hm.check(module, max_count={row["kind"]: times}, executed=True)
        assert not hm.check(module, max_count={row["kind"]: times - 1}, executed=True)
        words = f"{wire:,} wire bytes, {everyone:,} over all devices"
        steps = [i for name in "sux" if (i := next((k for k in module.instructions if k.name == name), None))]
        assert len(steps) == (1 if form == "synchronous" else 3 if form == "update" else 2)
        for step in steps:
            assert sum(note.endswith(words) for note in hm.explain(step).notes) == 1
            assert [k.name for k in step.async_steps][:1] == (["s"] if starts else [])
        synchronous = program("synchronous", kind, groups, in_loop=in_loop)
        assert moved(module) == moved(synchronous)
        if kind == "all-reduce, combined":
            assert hm.cost(module["s" if starts else "x"]).flops == 48 + 80
        assert hm.check(module, max_bytes=0).limits[0].found == hm.check(synchronous, max_bytes=0).limits[0].found


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "permute" not in kind])
def test_groups_and_axes(kind: str) -> None:
    named = {name: hm.collectives(program("async", kind, groups, in_loop=False)) for name, groups in GROUPS.items()}
    blocks, strided = ((0, 1, 2, 3), (4, 5, 6, 7)), ((0, 2, 4, 6), (1, 3, 5, 7))
    assert {name: row["groups"][0] for name, row in named.items()} == {
        "lists": blocks,
        "iota": blocks,
        "iota with T": strided,
        "mesh axes": blocks,
    }
    assert [row["axes"][0] for row in named.values()] == [None, None, None, ("y",)]
    mesh = hm.hlo.Mesh.parse("mesh['data'=2,'model'=4]")
    found = {
        name: hm.collectives(program("synchronous", kind, groups, in_loop=False), mesh=mesh)["axes"][0]
        for name, groups in GROUPS.items()
    }
    assert found == {"lists": ("model",), "iota": ("model",), "iota with T": None, "mesh axes": ("model",)}


def test_axes_of_pairs_and_of_the_module() -> None:
    module = hm.parse("""HloModule m, num_partitions=8, is_scheduled=true,
      frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["data"=2, "model"=4]>}}
    ENTRY e {
      p = f32[4] parameter(0)
      a = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,4},{4,0},{1,1}}
      b = f32[4] collective-permute(a), channel_id=2, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
      ROOT c = f32[4] collective-permute(b), channel_id=3, source_target_pairs={{0,5}}
    }""")
    assert hm.collectives(module)["axes"] == [("data",), ("model",), ("data", "model")]


REPLICAS = """HloModule m, replica_count={}, num_partitions={}, is_scheduled=true
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
ENTRY e {{ p = f32[10] parameter(0)  ROOT r = f32[10] all-reduce(p), to_apply=add{} }}"""


@pytest.mark.parametrize(
    ("attributes", "n_replicas", "n_partitions", "wire", "everyone", "ids"),
    [
        # Replicas exchange in each partition: 2 partitions * 3 replicas * 2 * 2/3 * 40 bytes.
        (", replica_groups={}", 3, 2, 54, 320, "replica"),
        # A group has all partitions of its replicas: 6 devices.
        (", replica_groups={{0,1,2}}, channel_id=1", 3, 2, 67, 400, "device"),
        (", replica_groups={{0,1,2},{3,4,5}}, channel_id=1, use_global_device_ids=true", 3, 2, 54, 320, "device"),
        (", replica_groups={{0},{1},{2}}", 3, 2, 0, 0, "replica"),
        # The group of 3 devices is busier than that of 2.
        (", replica_groups={{0,1,2},{3,4}}, channel_id=1, use_global_device_ids=true", 5, 1, 54, 240, "device"),
    ],
)
def test_replicas_and_partitions(
    attributes: str, n_replicas: int, n_partitions: int, wire: int, everyone: int, ids: str
) -> None:
    (row,) = hm.collectives(hm.parse(REPLICAS.format(n_replicas, n_partitions, attributes))).rows()
    assert (row["wire_bytes"], row["wire_bytes_all_devices"], row["ids"]) == (wire, everyone, ids)


def test_groups_that_are_not_known() -> None:
    text = REPLICAS.format(1, 1, ", replica_groups={{0}}, channel_id=37").replace(", num_partitions=1", "")
    found = hm.collectives(hm.parse(text))
    reason = "its groups are not known: the groups include all partitions, whose number is not known"
    assert found["unknown"] == [reason] and found["wire_bytes"] == [None] and found["exact"] == [False]
    assert found[0].wire_bytes == hm.Unknown(reason) == found[0].groups
    assert found.wire_bytes == hm.Unknown(f"r: {reason}")
    assert hm.explain(hm.parse(text)["r"]).notes == (f"wire bytes are not known: {reason}",)
    assert str(found).endswith(f"wire bytes are not known: r: {reason}")


def test_messages_of_any_size_are_between_bounds() -> None:
    module = hm.parse("""HloModule m, replica_count=4, is_scheduled=true
    ENTRY e {
      i = f32[10,6] parameter(0)  o = f32[8,6] parameter(1)  n = s32[4] parameter(2)
      ROOT r = f32[8,6] ragged-all-to-all(i, o, n, n, n, n), replica_groups={{0,1,2,3}}
    }""")
    (row,) = hm.collectives(module).records
    # To each of 3 others at most 8 rows of 24 bytes.
    assert (row.wire_bytes, row.wire_bytes_all_devices) == (hm.results.Count(0, 576), hm.results.Count(0, 2304))
    assert hm.explain(module["r"]).notes[-1].endswith("0 to 576 wire bytes, 0 to 2,304 over all devices")
    assert hm.check(module, max_wire_bytes=576) and not hm.check(module, max_wire_bytes=575)
    assert row.to_dict()["wire_bytes"] == {"lower": 0, "upper": 576}


TRANSFER = """HloModule m, num_partitions=4, is_scheduled=true
ENTRY e {{
  p = f32[10] parameter(0)  k = token[] after-all()
  s = (f32[10], u32[], token[]) send(p, k), channel_id=1{pairs}{host}
  v = (f32[10], u32[], token[]) recv(k), channel_id=1{pairs}{host}
  d = token[] send-done(s), channel_id=1{host}
  w = (f32[10], token[]) recv-done(v), channel_id=1{host}
  ROOT r = f32[10] get-tuple-element(w), index=0
}}"""
PAIRS = ", frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{3,3}}}"


def test_a_transfer_counts_where_it_is_sent() -> None:
    (row,) = hm.collectives(hm.parse(TRANSFER.format(pairs=PAIRS, host=""))).rows()
    assert (row["instruction"], row["done"], row["kind"]) == ("s", "d", "send")
    assert (row["wire_bytes"], row["wire_bytes_all_devices"], row["operand_bytes"]) == (40, 80, 40)
    found = hm.collectives(hm.parse(TRANSFER.format(pairs="", host="")))
    assert not len(found) and isinstance(found.wire_bytes, hm.Unknown) and "not known" in str(found)
    host = hm.collectives(hm.parse(TRANSFER.format(pairs="", host=", is_host_transfer=true")))
    assert not len(host) and host.wire_bytes == 0


def test_a_transfer_moves_its_operand_once() -> None:
    report = hm.cost(hm.parse(TRANSFER.format(pairs=PAIRS, host="")))
    assert (report.distinct_bytes, report.bytes_written) == (40, 40), "read by the send, written by the receive"


NESTED = """HloModule m, replica_count=2, is_scheduled=true
{add}
few {{ p = f32[8] parameter(0)  ROOT a = f32[8] all-reduce(p), replica_groups={{{{0,1}}}}, to_apply=add }}
many {{ p = f32[8] parameter(0)  b = f32[8] all-reduce(p), replica_groups={{{{0,1}}}}, to_apply=add
  ROOT c = f32[8] all-reduce(b), replica_groups={{{{0,1}}}}, to_apply=add }}
body {{
  t = (s32[], s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0  n = s32[] get-tuple-element(t), index=1
  one = s32[] constant(1)  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(t), index=2
  y = f32[8] conditional(i, x, x), branch_computations={{few, many}}
  ROOT out = (s32[], s32[], f32[8]) tuple(next, n, y)
}}
condition {{
  t = (s32[], s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(t), index=0  n = s32[] get-tuple-element(t), index=1
  ROOT less = pred[] compare(i, n), direction=LT
}}
ENTRY e {{
  x = f32[8] parameter(0)  m = s32[] parameter(1)  zero = s32[] constant(0)  five = s32[] constant(5)
  first = (s32[], s32[], f32[8]) tuple(zero, {n}, x)
  w = (s32[], s32[], f32[8]) while(first), condition=condition, body=body
  y = f32[8] get-tuple-element(w), index=2
  ROOT f = f32[8] call(y), to_apply=few
}}"""


def test_branches_loops_and_calls() -> None:
    module = hm.parse(NESTED.format(add=ADD, n="five"))
    found = hm.collectives(module)
    assert list(zip(found["instruction"], found["times"], found["where"], strict=True)) == [
        ("a", 1, ("loop w", "branch 0 of y")),  # by the call: of the conditional the branch that sends more counts
        ("b", 5, ("loop w", "branch 1 of y")),
        ("c", 5, ("loop w", "branch 1 of y")),
    ]
    assert found.wire_bytes == 11 * 32 == hm.cost(module).wire_bytes == figures(module).wire_bytes
    assert sum(found["total_wire_bytes"]) == 11 * 32
    assert hm.check(module, max_count={"all-reduce": 11}, executed=True)
    assert not hm.check(module, max_count={"all-reduce": 10}, executed=True)
    assert hm.check(module, max_count={"all-reduce": 3}) and not hm.check(module, max_count={"all-reduce": 2})
    assert hm.collectives(module["w"]).wire_bytes == 10 * 32
    assert hm.collectives(module.computation("many"))["times"] == [1, 1]


def test_a_loop_without_a_known_trip_count() -> None:
    module = hm.parse(NESTED.format(add=ADD, n="m"))
    found = hm.collectives(module)
    assert found["times"] == [None] * 3 and found["wire_bytes"] == [32] * 3 and found["exact"] == [False] * 3
    assert isinstance(found[0].times, hm.Unknown) and "unknown trip count" in found[0].times.reason
    for answer in (found.wire_bytes, hm.cost(module).wire_bytes, found[0].total_wire_bytes):
        assert isinstance(answer, hm.Unknown)
    assert hm.check(module, max_wire_bytes=10**9).limits[0].status == "unknown"
    assert hm.check(module, max_wire_bytes=96, executed=False), "the text has three"


def test_in_a_fusion() -> None:
    module = hm.parse(f"""HloModule m, replica_count=2, is_scheduled=true
    {ADD}
    fused {{
      p = f32[8] parameter(0)
      a = f32[8] all-reduce(p), replica_groups={{{{0,1}}}}, to_apply=add
      ROOT n = f32[8] negate(a)
    }}
    ENTRY e {{ p = f32[8] parameter(0)  ROOT f = f32[8] fusion(p), kind=kCustom, calls=fused }}""")
    (row,) = hm.collectives(module).rows()
    assert (row["instruction"], row["where"], row["wire_bytes"]) == ("a", ("fusion f",), 32)
    assert hm.explain(module["f"]).notes[-1] == "a: 1 group of 2 replicas: {0,1}; 32 wire bytes, 64 over all devices"
    assert hm.cost(module["f"]).wire_bytes == 32


def test_what_may_exchange_without_being_a_collective() -> None:
    found = hm.collectives(
        hm.parse("""HloModule m, num_partitions=2, is_scheduled=true
    ENTRY e { p = f32[8] parameter(0)  ROOT r = f32[8] custom-call(p), custom_call_target="mystery" }""")
    )
    assert not len(found) and isinstance(found.wire_bytes, hm.Unknown)
    lost = hm.collectives(
        hm.parse("HloModule m\nENTRY e { p = f32[8] parameter(0)\n x = f7[8] copy(p)\n ROOT n = f32[8] negate(p) }")
    )
    assert isinstance(lost.wire_bytes, hm.Unknown) and "cannot be read" in lost.wire_bytes.reason


LINKS = {"x": 2e9, "y": 4e9}


def test_a_lower_bound_of_the_time() -> None:
    mesh = hm.hlo.Mesh.parse("mesh['x'=2,'y'=4]")

    def seconds(kind: str, groups: str) -> float:
        found = hm.collectives(program("async", kind, groups, in_loop=True), mesh=mesh, links=LINKS)
        (row,) = found["time_at_least"]
        return float(row)

    # 576 bytes leave each device along y alone, three times.
    assert seconds("all-gather", "{{0,1,2,3},{4,5,6,7}}") == pytest.approx(3 * 576 / 4e9)
    assert seconds("all-gather", "[2,4]<=[4,2]T(1,0)") == pytest.approx(3 * 576 / 6e9), "groups of no axes: any link"
    # Pairs along both axes: one of 8 devices sends 192 bytes over all its links.
    assert seconds("collective-permute", "{}") == pytest.approx(3 * 192 / 6e9)
    with pytest.raises(hm.errors.ShapeError, match="links need a mesh"):
        hm.collectives(program("async", "all-gather", "[2,4]<=[8]", in_loop=False), links=LINKS)
    with pytest.raises(hm.errors.NotFoundError, match="differ in"):
        hm.collectives(program("async", "all-gather", "[2,4]<=[8]", in_loop=False), mesh=mesh, links={"z": 1.0})


def test_the_forms_of_the_table() -> None:
    found = hm.collectives(program("start and done", "all-gather", "[2,4]<=[8]", in_loop=True))
    arrow = found.to_arrow()
    assert arrow.column_names == list(found.columns) and arrow.to_pylist()[0]["groups"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert found.to_pandas()["wire_bytes"].tolist() == [576]
    assert found.to_dict()["collectives"][0]["groups"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert found.to_dict()["wire_bytes"] == 1728
    assert re.search(r"^s +all-gather +3 +loop w +null +4 +576 +1728$", str(found), re.M)
    assert found[-1] is found.records[0] and repr(found) == "<hlomap.results.Collectives: 1 rows>"
    with pytest.raises(hm.errors.NotFoundError, match="no column 'bytes'"):
        found["bytes"]


def test_starts_that_run_one_computation() -> None:
    module = hm.parse(f"""HloModule m, replica_count=2, is_scheduled=true
    {ADD}
    w {{ p = f32[8] parameter(0)  ROOT r = f32[8] all-reduce(p), replica_groups={{{{0,1}}}}, to_apply=add }}
    ENTRY e {{
      p = f32[8] parameter(0)
      s = ((f32[8]), f32[8]) async-start(p), calls=w
      t = ((f32[8]), f32[8]) async-start(p), calls=w
      x = f32[8] async-done(t), calls=w
      y = f32[8] async-done(s), calls=w
      ROOT z = f32[8] add(x, y)
    }}""")
    found = hm.collectives(module)
    assert [found[name] for name in ("instruction", "done", "times")] == [["s", "t"], ["y", "x"], [1, 1]]
    assert found.wire_bytes == 64 == sum(found["total_wire_bytes"])


BODY = """HloModule m, num_partitions=2, is_scheduled=true
{add}
ENTRY e {{ p = f32[8] parameter(0)
 {lines}
}}"""


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        # Offsets of rank 0, a dimension that is not there, an array without bound.
        (
            "o = f32[8] parameter(1)  n = s32[] parameter(2)\n"
            " ROOT r = f32[8] ragged-all-to-all(p, o, n, n, n, n), replica_groups={{0,1}}",
            "",
        ),
        ("ROOT r = f32[16] all-gather(p), dimensions={5}, replica_groups={{0,1}}", ""),
        ("q = f32[?] parameter(1)\n ROOT r = f32[?] all-reduce(q), replica_groups={{0,1}}, to_apply=add", "bound"),
    ],
)
def test_what_does_not_fit_is_unknown_in_every_answer(lines: str, reason: str) -> None:
    module = hm.parse(BODY.format(add=ADD, lines=lines))
    found = hm.collectives(module)
    assert found["wire_bytes"] == [None] and reason in found["unknown"][0]
    assert isinstance(found.wire_bytes, hm.Unknown) and isinstance(hm.cost(module).wire_bytes, hm.Unknown)
    assert figures(module).wire_bytes is None and found.to_dict()["wire_bytes"] == {"unknown": found.wire_bytes.reason}
    assert hm.check(module, max_wire_bytes=10**9).limits[0].status == "unknown"
    assert hm.explain(module["r"]).notes and str(hm.cost(module)) and str(found)


def test_text_that_is_lost() -> None:
    module = hm.parse("HloModule m\nENTRY e { p = f32[8] parameter(0)\n ) ( garbage\n ROOT n = f32[8] negate(p) }")
    assert module.has_skipped_text or module.unread
    for answer in (hm.collectives(module).wire_bytes, hm.cost(module).wire_bytes):
        assert isinstance(answer, hm.Unknown)
    assert figures(module).wire_bytes is None


def test_a_loop_that_never_runs_leaves_nothing_open() -> None:
    text = NESTED.format(add=ADD, n="zero").replace(
        "y = f32[8] conditional(i, x, x), branch_computations={few, many}",
        'y = f32[8] custom-call(x), custom_call_target="mystery"',
    )
    module = hm.parse(text)
    assert module.computation("body").times == 0
    assert hm.collectives(module).wire_bytes == 32 == hm.cost(module).wire_bytes
    assert hm.check(module, max_wire_bytes=32) and not hm.check(module, max_wire_bytes=32, executed=False)


def test_a_branch_that_is_named_twice() -> None:
    module = hm.parse(f"""HloModule m, replica_count=2, is_scheduled=true
    {ADD}
    b {{ p = f32[8] parameter(0)  ROOT a = f32[8] all-reduce(p), replica_groups={{{{0,1}}}}, to_apply=add }}
    ENTRY e {{ i = s32[] parameter(0)  p = f32[8] parameter(1)
      ROOT c = f32[8] conditional(i, p, p), branch_computations={{b, b}} }}""")
    assert hm.collectives(module)["where"] == [("branch 0 of c",)]


def test_the_violation_names_what_runs_most() -> None:
    module = hm.parse(NESTED.format(add=ADD, n="five"))
    (violation,) = hm.check(module, max_count={"all-reduce": 1}, executed=True).violations
    assert (
        violation.instruction is not None
        and violation.instruction.opcode == "all-reduce"
        and "b 5 times" in violation.why
    )
