"""Each rule of ``hm.check``: a limit that just holds, and one that just breaks; what the report says."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import hlomap as hm

PROGRAM = """HloModule step, num_partitions=4
moved { a = f32[4,6]{1,0} parameter(0)  b = f32[4,6]{1,0} negate(a)
  t = f32[6,4]{1,0} transpose(b), dimensions={1,0}  ROOT u = f32[24]{0} bitcast(t) }
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
body {
  s = (s32[], f32[4,6]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  y = f32[4,6]{1,0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  e = f32[4,6]{1,0} exponential(y), metadata={op_name="exp" source_file="model.py" source_line=12}
  ROOT t = (s32[], f32[4,6]{1,0}) tuple(next, y)
}
condition {
  s = (s32[], f32[4,6]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x.1 = f32[4,6]{1,0} parameter(0), metadata={op_name="x"}
  w = f32[4,6]{1,0} parameter(1)
  fusion = f32[24]{0} fusion(x.1), kind=kLoop, calls=moved
  free = f32[6,4]{0,1} transpose(x.1), dimensions={1,0}
  kept = f32[24]{0} reshape(w)
  zero = s32[] constant(0)
  s = (s32[], f32[4,6]{1,0}) tuple(zero, w)
  loop = (s32[], f32[4,6]{1,0}) while(s), condition=condition, body=body
  begin = f32[4,6]{1,0} all-reduce-start(w), replica_groups={{0,1,2,3}}, channel_id=1,
    use_global_device_ids=true, to_apply=add
  sum = f32[4,6]{1,0} all-reduce-done(begin)
  same = f32[4,6]{1,0} copy(sum)
  ROOT r = (f32[24]{0}, f32[6,4]{0,1}, f32[24]{0}, f32[4,6]{1,0}) tuple(fusion, free, kept, same)
}
"""
MODULE = hm.parse(PROGRAM)

RULES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    # name, arguments that just hold, arguments that just break
    ("bytes", {"max_bytes": 2034}, {"max_bytes": 2033}),
    ("reads", {"max_reads": {"x": 2}}, {"max_reads": {"x": 1}}),
    ("reads by the name in HLO", {"max_reads": {"x.1": 2}}, {"max_reads": {"x.1": 1}}),
    ("reads by number, in a loop", {"max_reads": {1: 7}}, {"max_reads": {1: 6}}),
    ("forbid", {"forbid": ["slice"]}, {"forbid": ["copy"]}),
    ("forbid: a bitcast does not count", {"forbid": ["reshape", "bitcast"]}, {"forbid": "transpose"}),
    ("forbid: inside a fusion does not count", {"forbid": ["negate"]}, {"forbid": ["exponential"]}),
    ("forbid: asynchronous", {"forbid": ["all-gather"]}, {"forbid": ["all-reduce"]}),
    ("forbid: a pattern", {"forbid": ["*gather*"]}, {"forbid": ["all-*"]}),
    ("count", {"max_count": {"fusion": 1}}, {"max_count": {"fusion": 0}}),
    ("count in loops", {"max_count": {"exponential": 1}}, {"max_count": {"exponential": 0}}),
    ("count of a pattern: a pair is one", {"max_count": {"all-*": 1}}, {"max_count": {"all-*": 0}}),
    ("wire bytes", {"max_wire_bytes": 144}, {"max_wire_bytes": 143}),
    ("bitcasts", {"bitcasts_only": ["reshape"]}, {"bitcasts_only": ["transpose"]}),
    ("bitcasts by name", {"bitcasts_only": ["free"]}, {"bitcasts_only": ["same"]}),
]


@pytest.mark.parametrize(("holds", "breaks"), [rule[1:] for rule in RULES], ids=[rule[0] for rule in RULES])
def test_rule(holds: dict[str, Any], breaks: dict[str, Any]) -> None:
    kept = hm.check(MODULE, **holds)
    assert kept.ok and bool(kept) and not kept.violations, kept
    kept.assert_ok()
    broken = hm.check(MODULE, **breaks)
    assert not broken.ok and not broken, broken
    (name,) = breaks
    for violation in broken.violations:
        assert (
            violation.rule.startswith(name) and violation.limit < violation.found and violation.instruction is not None
        )
        assert violation.why and json.loads(json.dumps(violation.to_dict()))["why"] == violation.why
    with pytest.raises(AssertionError, match=name):
        broken.assert_ok()
    assert json.loads(json.dumps(broken.to_dict()))["ok"] is False


REPORT = """\
step: 4 of 5 limits broken
  max_bytes: limit 1,000, found 2,034
    it moves 2,034 bytes, 1,048 read and 986 written; the most in e (960 bytes)
    e = f32[4,6]{1,0} exponential(y)
    at model.py:12
  max_reads[x]: limit 1, found 2
    an element of x is read from memory 2 times, by fusion and free
    fusion = f32[24]{0} fusion(x.1)
  forbid[transpose]: limit 0, found 1
    t, the root of fusion, moves data: 96 bytes written
    t = f32[6,4]{1,0} transpose(b)
  forbid[exp*]: limit 0, found 1
    e moves data: 96 bytes written
    e = f32[4,6]{1,0} exponential(y)
    at model.py:12"""


def test_report() -> None:
    found = hm.check(MODULE, max_reads={"x": 1}, forbid=["transpose", "exp*"], max_count={"fusion": 1}, max_bytes=1000)
    assert repr(found) == "<CheckReport step: 4 of 5 limits broken>"
    assert str(found) == REPORT
    assert found.violations[-1].source == "model.py:12"


def test_unknown_breaks_a_limit() -> None:
    module = hm.parse("""HloModule m
    body { s = (f32[], f32[3]) parameter(0)  f = f32[] get-tuple-element(s), index=0
      v = f32[3] get-tuple-element(s), index=1  n = f32[3] negate(v)  ROOT t = (f32[], f32[3]) tuple(f, v) }
    condition { s = (f32[], f32[3]) parameter(0)  f = f32[] get-tuple-element(s), index=0
      one = f32[] constant(1)  ROOT more = pred[] compare(f, one), direction=GT }
    ENTRY e { f = f32[] parameter(0)  v = f32[3] parameter(1)  s = (f32[], f32[3]) tuple(f, v)
      ROOT w = (f32[], f32[3]) while(s), condition=condition, body=body }""")
    (violation,) = hm.check(module, max_reads={"v": 10**9}).violations
    assert isinstance(violation.found, hm.Unknown) and "is not known" in violation.why
    for schedule, ok in (("", False), (", is_scheduled=true", True)):
        split = hm.parse(f"""HloModule m{schedule}
        ENTRY e {{ p = f32[8] parameter(0), sharding={{devices=[2]<=[2]}}  ROOT n = f32[8] negate(p) }}""")
        found = hm.check(split, max_wire_bytes=0)
        assert found.ok == ok and ok == ("XLA may not have partitioned it" not in str(found))
        assert ok or "p = f32[8] parameter(0)" in str(found)
    inside = hm.check(MODULE.computation("moved"), max_bytes=10**9)
    assert not inside and "values inside moved are not in memory" in str(inside)


UNREAD = ["f7[4,6] copy(p)", "f32[4,6]{1,0:NEW(3)} copy(p)", "f32[4,6] copy(nowhere)"]
LIMITS: list[dict[str, Any]] = [
    {"max_bytes": 10**9},
    {"max_reads": {"p": 9}},
    {"forbid": ["copy"]},
    {"max_count": {"copy": 9}},
    {"max_wire_bytes": 10**9},
    {"bitcasts_only": ["copy"]},
]


@pytest.mark.parametrize("line", UNREAD)
@pytest.mark.parametrize("limit", LIMITS, ids=[next(iter(limit)) for limit in LIMITS])
def test_no_limit_holds_over_a_line_that_is_not_read(line: str, limit: dict[str, Any]) -> None:
    text = "ENTRY e {{\n p = f32[4,6] parameter(0)\n {}\n a = f32[4,6] negate(p)\n ROOT t = f32[24] bitcast(a)\n}}"
    assert hm.check(hm.parse(text.format("")), **limit)
    report = hm.check(hm.parse(text.format(f"x = {line}")), **limit)
    (checked,) = report.limits
    assert not report.ok and checked.status == "unknown" and checked.holds.value is None
    assert report.reason is not None and "x" in report.reason and "cannot be read" in report.reason
    assert json.loads(json.dumps(report.to_dict()))["limits"][0] == {
        "rule": checked.rule,
        "limit": checked.limit,
        "found": {"unknown": checked.found.reason},
        "status": "unknown",
    }


LOST = {
    "before the parameter": "HloModule m\nENTRY e {{\n {}\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}}",
    "in a call of other values": """HloModule m
    f {{\n {}\n ROOT o = f32[4] constant({{1,2,3,4}})\n}}
    ENTRY e {{\n p = f32[4] parameter(0)\n c = f32[4] call(), to_apply=f\n ROOT n = f32[4] add(p, c)\n}}""",
    "in a fusion of other values": """HloModule m
    f {{\n {}\n ROOT o = f32[4] constant({{1,2,3,4}})\n}}
    ENTRY e {{\n p = f32[4] parameter(0)\n c = f32[4] fusion(), kind=kLoop, calls=f\n ROOT n = f32[4] add(p, c)\n}}""",
}


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_reads_beside_a_line_that_is_not_read(text: str) -> None:
    assert hm.check(hm.parse(text.format("")), max_reads={"p": 1})
    lost = hm.parse(text.format("x = f7[4] copy(nowhere)"))
    assert hm.check(lost, max_reads={"p": 1}).reason == "the text of x cannot be read"
    assert hm.check(lost["n"], max_reads={"p": 1}).reason == "the text of x cannot be read", "all of the entry counts"
    assert hm.check(lost, max_reads={"p": 0}).limits[0].status == "broken"


def test_a_limit_that_is_broken_stays_so_beside_what_is_not_read() -> None:
    module = hm.parse("ENTRY e {\n p = f32[4] parameter(0)\n x = f7[4] copy(p)\n ROOT c = f32[4] copy(p)\n}")
    report = hm.check(module, forbid=["copy"], max_count={"copy": 0}, max_bytes=31)
    assert [limit.status for limit in report.limits] == ["broken"] * 3 and report.reason is None


FUSED = """f {{
  a = f32[4,6]{{1,0}} parameter(0)
  {}
}}
ENTRY e {{
  p = f32[4,6]{{1,0}} parameter(0)
  ROOT x = f32[4,6]{{1,0}} fusion(p), kind=kLoop, calls=f
}}"""


def test_lines_in_fusions() -> None:
    root = hm.parse(FUSED.format("ROOT r = f32[4,6]{1,0} copy(nowhere)"))
    assert hm.check(root, forbid=["copy"]).reason == "the text of r cannot be read"
    for limit in ({"max_bytes": 10**9}, {"max_reads": {"p": 9}}, {"bitcasts_only": ["copy"]}):
        assert "r" in str(hm.check(root, **limit).reason)
    assert hm.check(root, max_count={"copy": 0}), "only instructions outside fusions count"


def test_text_that_is_in_no_instruction() -> None:
    cut = hm.parse("ENTRY e {\n p = f32[4] parameter(0)\n}\n a = f32[4] copy(p)\n}\n")
    for limit in LIMITS:
        assert hm.check(cut, **limit).reason == "a part of the text cannot be read"


def test_bytes_count_as_often_as_they_move() -> None:
    """The figures of :func:`hlomap.cost`, which the sums by hand repeat."""
    calls = "".join(f" a{i} = f32[64] call({f'a{i - 1}' if i else 'p'}), to_apply=g\n" for i in range(10))
    module = hm.parse(
        "g { p = f32[64] parameter(0)  ROOT c = f32[64] negate(p) }\n"
        f"ENTRY e {{\n p = f32[64] parameter(0)\n{calls} ROOT c = f32[64] copy(a9)\n}}"
    )
    cost = hm.cost(module)
    n = 11 * 2 * 256
    assert cost.distinct_bytes is not None and cost.bytes_written is not None
    assert n == cost.distinct_bytes + cost.bytes_written
    assert hm.check(module, max_bytes=n) and not hm.check(module, max_bytes=n - 1)
    assert hm.check(module["a3"], max_bytes=512) and not hm.check(module["a3"], max_bytes=511)
    assert hm.check(module, max_count={"negate": 1}), "numbers of instructions count the text"


BRANCHES = """HloModule m, num_partitions=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
few { p = f32[64] parameter(0)  s = f32[64] sine(p)  t = f32[64] sine(s)  ROOT u = f32[64] sine(t) }
many { p = f32[64] parameter(0)  a = f32[64] negate(p)  b = f32[64] negate(a)  c = f32[64] negate(b)
  ROOT r = f32[64] negate(c) }
far { p = f32[64] parameter(0)
  ROOT r = f32[64] all-reduce(p), replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true, to_apply=add }
ENTRY e {
  i = s32[] parameter(0)
  p = f32[64] parameter(1)
  ROOT r = f32[64] conditional(i, p, p, p), branch_computations={few, many, far}
}"""


def test_of_a_conditional_the_branch_with_most_counts() -> None:
    module = hm.parse(BRANCHES)
    assert hm.check(module, max_bytes=4 * 512) and not hm.check(module, max_bytes=4 * 512 - 1)
    assert hm.check(module, max_wire_bytes=256) and not hm.check(module, max_wire_bytes=255)
    lost = hm.parse(BRANCHES.replace("t = f32[64] sine(s)", "\n t = f7[64] sine(s)\n"))
    assert hm.check(lost, max_bytes=10**9).reason is not None, "a branch that moves less may move more"


TRANSFERS = {
    "send and recv": """k = token[] after-all()
      s = (f32[8], u32[], token[]) send(p, k), channel_id=1
      v = (f32[8], u32[], token[]) recv(k), channel_id=1
      d = token[] send-done(s), channel_id=1
      w = (f32[8], token[]) recv-done(v), channel_id=1
      r = f32[8] get-tuple-element(w), index=0""",
    "a custom call": 'r = f32[8] custom-call(p), custom_call_target="mystery"',
    "an unknown opcode": "r = f32[8] teleport(p)",
    "a collective over unknown groups": "r = f32[8] collective-permute(p), source_target_pairs=??",
}


@pytest.mark.parametrize("lines", TRANSFERS.values(), ids=TRANSFERS)
def test_bytes_between_devices_that_no_rule_tells(lines: str) -> None:
    text = "HloModule m, num_partitions={}\nENTRY e {{ p = f32[8] parameter(0)\n {}\n ROOT n = f32[8] negate(r) }}"
    report = hm.check(hm.parse(text.format(2, lines)), max_wire_bytes=10**9)
    assert report.limits[0].status == "unknown" and report.reason


INSIDE = """HloModule m, is_scheduled=true, num_partitions=2
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
far { a = f32[] parameter(0)  b = f32[] parameter(1)  c = f32[] add(a, b)  ROOT d = f32[] SUM(c) }
w { x = f32[8] parameter(0)  WORK }
outer { x = f32[8] parameter(0)  ROOT y = f32[8] OUTER }
ENTRY e { x = f32[8] parameter(0)  ROOT n = f32[8] RUN }"""
SUM = r"all-reduce(\1), replica_groups={{0,1}}, channel_id=1, use_global_device_ids=true, to_apply=add"
RUNS = {
    "a fusion": ("negate(x)", "fusion(x), kind=kCustom, calls=w"),
    "a fusion in a fusion": ("fusion(x), kind=kCustom, calls=w", "fusion(x), kind=kCustom, calls=outer"),
    "a call in a fusion": ("call(x), to_apply=w", "fusion(x), kind=kCustom, calls=outer"),
    "a call": ("negate(x)", "call(x), to_apply=w"),
}
REDUCED = "z = f32[] constant(0)  s = f32[] reduce(x, z), dimensions={0}, to_apply="
WORK = {
    "two sums": ("y = f32[8] SUM(x)  z = f32[8] exponential(y)  ROOT r = f32[8] SUM(z)", 64),
    "a sum and a custom call": (
        'y = f32[8] SUM(x)  ROOT r = f32[8] custom-call(y), custom_call_target="mystery"',
        None,
    ),
    "a sum for each element": (f"{REDUCED}far  ROOT r = f32[8] broadcast(s), dimensions={{}}", None),
    "no exchange": (f"{REDUCED}add  ROOT r = f32[8] broadcast(s), dimensions={{}}", 0),
} | {name: (f"{lines.replace('(p', '(x')}  ROOT n = f32[8] negate(r)", None) for name, lines in TRANSFERS.items()}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize(("lines", "n"), WORK.values(), ids=WORK)
def test_bytes_between_devices_inside_of_what_runs(lines: str, n: int | None, run: tuple[str, str]) -> None:
    text = INSIDE.replace("WORK", lines).replace("OUTER", run[0]).replace("RUN", run[1])
    module = hm.parse(re.sub(r"SUM\((\w+)\)", SUM, text))
    assert not module.unread or "source_target_pairs=??" in lines
    report = hm.check(module, max_wire_bytes=10**9 if n is None else n)
    assert report.limits[0].status == ("unknown" if n is None else "holds"), report
    assert not n or hm.check(module, max_wire_bytes=n - 1).limits[0] == ("max_wire_bytes", n - 1, n)
    assert bool(hm.check(module.entry.root, max_wire_bytes=10**9)) == (n is not None), "of the instruction alone, too"


def test_transfers_that_leave_no_device() -> None:
    alone = hm.parse(
        'ENTRY e { p = f32[8] parameter(0)  ROOT r = f32[8] custom-call(p), custom_call_target="mystery" }'
    )
    assert hm.check(alone, max_wire_bytes=0), "there is no other device"
    host = hm.parse("""HloModule m, num_partitions=2
    ENTRY e { p = f32[8] parameter(0)  k = token[] after-all()
      s = (f32[8], u32[], token[]) send(p, k), channel_id=1, is_host_transfer=true
      ROOT d = token[] send-done(s), channel_id=1, is_host_transfer=true }""")
    assert hm.check(host, max_wire_bytes=0)


def test_a_loop_without_a_known_trip_count() -> None:
    module = hm.parse("""HloModule m
    body { s = (f32[], f32[3]) parameter(0)  f = f32[] get-tuple-element(s), index=0
      v = f32[3] get-tuple-element(s), index=1  n = f32[3] negate(v)  ROOT t = (f32[], f32[3]) tuple(f, n) }
    condition { s = (f32[], f32[3]) parameter(0)  f = f32[] get-tuple-element(s), index=0
      one = f32[] constant(1)  ROOT more = pred[] compare(f, one), direction=GT }
    ENTRY e { s = (f32[], f32[3]) parameter(0)
      ROOT w = (f32[], f32[3]) while(s), condition=condition, body=body }""")
    report = hm.check(module, max_bytes=10**9)
    assert report.limits[0].status == "unknown" and "unknown trip count" in str(report.reason)
    assert hm.check(module, max_wire_bytes=0), "any number of iterations that move nothing moves nothing"


EFFECTS = {
    "outfeed": ("o = token[] outfeed({}, k), outfeed_shape=f32[4]", "holds"),
    "a custom call without a result": ('o = () custom-call({}), custom_call_target="mystery"', "unknown"),
    "a custom call with a token": ('o = token[] custom-call({}, k), custom_call_target="mystery"', "unknown"),
    "an opaque result": ('o = opaque[] custom-call({}), custom_call_target="mystery"', "unknown"),
    "a result that nothing uses": ('o = f32[1] custom-call({}), custom_call_target="mystery"', "unknown"),
}
AROUND = {
    "entry": "ENTRY e {{ p = f32[4] parameter(0)  k = token[] after-all()\n {}\n ROOT r = f32[0] constant({{}}) }}",
    "fusion": """f {{ p = f32[4] parameter(0)  k = token[] after-all()\n {}\n ROOT r = f32[0] constant({{}}) }}
      ENTRY e {{ p = f32[4] parameter(0)  ROOT o = f32[0] fusion(p), kind=kCustom, calls=f }}""",
    "root of a fusion": """f {{ p = f32[4] parameter(0)  k = token[] after-all()\n ROOT {} }}
      ENTRY e {{ p = f32[4] parameter(0)  f = TYPE fusion(p), kind=kCustom, calls=f
      ROOT r = f32[0] constant({{}}) }}""",
    "fusion in a fusion": """f {{ p = f32[4] parameter(0)  k = token[] after-all()\n {}
      ROOT r = f32[0] constant({{}}) }}
      g {{ p = f32[4] parameter(0)  ROOT h = f32[0] fusion(p), kind=kCustom, calls=f }}
      ENTRY e {{ p = f32[4] parameter(0)  ROOT o = f32[0] fusion(p), kind=kCustom, calls=g }}""",
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize(("line", "status"), EFFECTS.values(), ids=EFFECTS)
def test_what_is_read_for_no_array(line: str, status: str, around: str) -> None:
    text = around.replace("TYPE", line.split()[2]).format(line.format("p"))
    module = hm.parse(f"HloModule m\n{text}")
    assert not module.unread
    n_written = 4 * ("= f32[1]" in line and "f32[0] fusion" not in text)
    report = hm.check(module, max_bytes=16 + n_written, max_reads={"p": 1})
    assert [limit.status for limit in report.limits] == [status, "holds"], report
    report = hm.check(module, max_bytes=15 + n_written, max_reads={"p": 0})
    assert [limit.found for limit in report.limits] == [16 + n_written, 1]


def test_parts_that_are_read_for_no_array() -> None:
    text = """HloModule m
    f { p = f32[4] parameter(0)  q = f32[4] parameter(1)  k = token[] after-all()  s = f32[2] slice(p), slice={[0:2]}
      o = token[] outfeed(s, k), outfeed_shape=f32[2]  ROOT r = f32[4] negate(q) }
    body { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0
      v = f32[4] get-tuple-element(s), index=1  one = s32[] constant(1)  j = s32[] add(i, one)  k = token[] after-all()
      o = token[] outfeed(v, k), outfeed_shape=f32[4]  ROOT t = (s32[], f32[4]) tuple(j, v) }
    condition { s = (s32[], f32[4]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(3)
      ROOT less = pred[] compare(i, n), direction=LT }
    ENTRY e { p = f32[4] parameter(0)  q = f32[4] parameter(1)  zero = s32[] constant(0)
      fusion = f32[4] fusion(p, q), kind=kLoop, calls=f
      s = (s32[], f32[4]) tuple(zero, q)  ROOT w = (s32[], f32[4]) while(s), condition=condition, body=body }"""
    module = hm.parse(text)
    assert hm.check(module["fusion"], max_bytes=8 + 32) and not hm.check(module["fusion"], max_bytes=8 + 31)
    assert hm.check(module, max_reads={"p": 1, "q": 1 + 3})
    assert not hm.check(module, max_reads={"q": 3})
    n = 3 * (16 + 12) + 4 * 9  # the outfeed and the counter, and the condition
    assert hm.check(module["w"], max_bytes=n) and not hm.check(module["w"], max_bytes=n - 1)


def test_a_name_that_fits_two_parameters() -> None:
    module = hm.parse("""ENTRY e {
      x = f32[4] parameter(0), metadata={op_name="y"}
      y = f32[4] parameter(1), metadata={op_name="x"}
      ROOT a = f32[4] add(x, y) }""")
    with pytest.raises(ValueError, match=r"`x` in max_reads is the name of `x` \(number 0\) and `y` \(number 1\)"):
        hm.check(module, max_reads={"x": 1})
    assert hm.check(module, max_reads={0: 1, 1: 1})


def test_subjects() -> None:
    assert hm.check(MODULE["fusion"], max_count={"*": 1}, max_bytes=192)
    assert not hm.check(MODULE["fusion"], forbid=["transpose"])
    assert hm.check(MODULE["loop"], max_count={"*": 1 + 7 + 4}) and not hm.check(MODULE["loop"], max_count={"*": 11})
    assert hm.check(MODULE.computation("body"), max_count={"exp*": 1}, max_reads={"s": 5}, forbid=["transpose"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hm.check(MODULE, MODULE), TypeError, "no arguments with a Module"),
        (lambda: hm.check(MODULE, forbid=[]), ValueError, "expected a limit, such as max_bytes="),
        (lambda: hm.check(MODULE, max_bytes="1"), TypeError, "int of at least 0 as `max_bytes`"),
        (lambda: hm.check(MODULE, max_bytes=-1), ValueError, "at least 0 as `max_bytes`, found -1"),
        (lambda: hm.check(MODULE, max_reads=["x"]), TypeError, "a mapping to int as `max_reads`"),
        (lambda: hm.check(MODULE, max_count={"copy": 1.5}), TypeError, "as `max_count`"),
        (lambda: hm.check(MODULE, forbid=[3]), TypeError, "opcodes as `forbid`"),
        (
            lambda: hm.check(MODULE, forbid=["transpos"]),
            hm.errors.NotFoundError,
            "opcode matches `transpos` in",
        ),
        (lambda: hm.check(MODULE, max_count={"fusions": 1}), hm.errors.NotFoundError, "no opcode matches `fusions`"),
        (lambda: hm.check(MODULE, max_reads={"y": 1}), hm.errors.NotFoundError, "there are `x` and `w`: JAX drops"),
        (lambda: hm.check(MODULE, bitcasts_only=["free2"]), hm.errors.NotFoundError, "no instruction that runs"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.jax
def test_function_of_jax() -> None:
    import jax
    import jax.numpy as jnp

    def f(x: Any) -> Any:
        return jnp.tanh(x) * 2 + x

    x = jax.ShapeDtypeStruct((8, 16), "float32")
    hm.check(f, x, max_reads={"x": 1}, max_bytes=2 * 8 * 16 * 4, max_count={"fusion": 1}).assert_ok()
    assert not hm.check(jax.jit(lambda x: (x.T + 1, x * 2)), x, max_reads={"x": 1}, stage="unoptimized")
