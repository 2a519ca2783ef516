"""Each rule of ``hm.check``: a limit that just holds, and one that just breaks; what the report says."""

from __future__ import annotations

import json
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
    ("bytes", {"max_bytes": 1173}, {"max_bytes": 1172}),
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
    ("count of a pattern", {"max_count": {"all-*": 2}}, {"max_count": {"all-*": 1}}),
    ("remote bytes", {"max_remote_bytes": 1152}, {"max_remote_bytes": 1151}),
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
  max_bytes: limit 1,000, found 1,173
    it moves 1,173 bytes, 592 read and 581 written; the most in fusion (192 bytes)
    fusion = f32[24]{0} fusion(x.1)
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
        found = hm.check(split, max_remote_bytes=0)
        assert found.ok == ok and ok == ("XLA may not have partitioned it" not in str(found))
        assert ok or "p = f32[8] parameter(0)" in str(found)
    inside = hm.check(MODULE.computation("moved"), max_bytes=10**9)
    assert not inside and "in a fusion, or nothing calls it" in str(inside)


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
