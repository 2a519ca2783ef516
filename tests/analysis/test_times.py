"""How often computations run: trip counts times calls."""

from __future__ import annotations

import sys

import pytest

import hlomap as hm

BODY = """{{
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8] get-tuple-element(s), index=1
  y = f32[8] {}
  ROOT t = (s32[], f32[8]) tuple(next, y)
}}
"""
BELOW = """{{
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] {}
  ROOT less = pred[] compare(i, n), direction=LT
}}
"""
LEAF = "{ p = f32[8] parameter(0)  ROOT n = f32[8] negate(p) }\n"
ADD = "add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }\n"
ZERO = "  zero = s32[] constant(0)\n"


def loop(name: str, n: str, inside: str) -> str:
    return f"{name}_body {BODY.format(inside)}{name}_below {BELOW.format(n)}"


def nested(n_outer: int, n_inner: int) -> str:
    inner = loop("inner", f"constant({n_inner})", "fusion(x), kind=kLoop, calls=leaf")
    wrap = (
        "wrap {\n  x = f32[8] parameter(0)\n"
        + ZERO
        + "  s = (s32[], f32[8]) tuple(zero, x)\n"
        + "  w = (s32[], f32[8]) while(s), condition=inner_below, body=inner_body\n"
        + "  ROOT r = f32[8] get-tuple-element(w), index=1\n}\n"
    )
    outer = loop("outer", f"constant({n_outer})", "call(x), to_apply=wrap")
    return f"leaf {LEAF}{inner}{wrap}{outer}"


LOOP = "  s = (s32[], f32[8]) tuple(zero, x)\n  w = (s32[], f32[8]) while(s), condition={0}_below, body={0}_body\n"
ENTRY = "ENTRY e {\n  x = f32[8] parameter(0)\n" + ZERO
BRANCHES = f"left {LEAF}right {LEAF}"
CHOICE = (
    "  q = pred[] parameter(1)\n"
    "  c = f32[8] conditional(q, x, x), true_computation=left, false_computation=right\n"
    "  d = f32[8] call(c), to_apply=left\n}"
)
ASYNC = """  a = ((f32[8]), f32[8], s32[]) async-start(x), calls=leaf
  u = ((f32[8]), f32[8], s32[]) async-update(a), calls=leaf
  d = f32[8] async-done(u), calls=leaf
}"""
UNKNOWN_LOOP = loop("w", 'custom-call(), custom_call_target="limit"', "call(x), to_apply=leaf")

CASES = {
    "nested loops": (
        nested(5, 7) + ENTRY + LOOP.format("outer") + "}",
        {"leaf": 35, "inner_body": 35, "inner_below": 40, "wrap": 5, "outer_body": 5, "outer_below": 6, "e": 1},
    ),
    "no iteration": (
        nested(0, 7) + ENTRY + LOOP.format("outer") + "}",
        {"leaf": 0, "inner_body": 0, "inner_below": 0, "wrap": 0, "outer_body": 0, "outer_below": 1, "e": 1},
    ),
    "an unknown count": (
        f"leaf {LEAF}{UNKNOWN_LOOP}{ENTRY}{LOOP.format('w')}  k = f32[8] call(x), to_apply=leaf\n}}",
        {
            "leaf": "w: unknown trip count",
            "w_body": "w: unknown trip count",
            "w_below": "w: unknown trip count",
            "e": 1,
        },
    ),
    "an unknown count that never runs": (
        f"leaf {LEAF}{UNKNOWN_LOOP}never {{\n  x = f32[8] parameter(0)\n{ZERO}{LOOP.format('w')}}}\n{ENTRY}}}",
        {"leaf": 0, "w_body": 0, "w_below": 0, "never": 0, "e": 1},
    ),
    "branches": (BRANCHES + ENTRY + CHOICE, {"left": 2, "right": 1, "e": 1}),
    "one branch twice": (
        BRANCHES + ENTRY + CHOICE.replace("false_computation=right", "false_computation=left"),
        {"left": 2, "right": 0, "e": 1},
    ),
    "steps of an asynchronous call": (f"leaf {LEAF}{ENTRY}{ASYNC}", {"leaf": 1, "e": 1}),
    "applied to elements": (
        f"{ADD}{ENTRY}  z = f32[] constant(0)\n  r = f32[] reduce(x, z), dimensions={{0}}, to_apply=add\n}}",
        {"add": "r: the number of applications of add is not known", "e": 1},
    ),
    "a line that cannot be read": (
        f"leaf {LEAF}{ENTRY}  k = f32[8] call(x), to_apply=leaf\n  z = f7[8] copy(x)\n}}",
        {"leaf": "z, which cannot be read, may call leaf", "e": 1},
    ),
    "a line that cannot be read and never runs": (
        f"leaf {LEAF}never {{ p = f32[8] parameter(0)\n  z = f7[8] copy(p)\n }}\n"
        f"{ENTRY}  k = f32[8] call(x), to_apply=leaf\n}}",
        {"leaf": 1, "never": 0, "e": 1},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_times(name: str) -> None:
    text, expected = CASES[name]
    module = hm.parse(text)
    found = {c.name: c.times.reason if isinstance(c.times, hm.Unknown) else c.times for c in module.computations}
    assert found == expected


def test_times_are_those_of_cost() -> None:
    """Where nothing is unknown and no branch is chosen, costs count as often."""
    module = hm.parse(nested(5, 7) + ENTRY + LOOP.format("outer") + "}")
    parts = hm.cost(module).parts
    assert {part.subject.computation.times for part in parts} >= {35}
    assert all(part.times == part.subject.computation.times for part in parts)


def chain(n: int) -> str:
    """n computations, of which each calls the one before twice."""
    lines = [f"f0 {LEAF}"]
    for k in range(1, n):
        call = f"call(p), to_apply=f{k - 1}"
        lines.append(f"f{k} {{ p = f32[8] parameter(0)  a = f32[8] {call}  b = f32[8] {call} }}\n")
    return "".join(lines) + f"ENTRY e {{ x = f32[8] parameter(0)  r = f32[8] call(x), to_apply=f{n - 1} }}"


def test_counts_double_up_to_64_bits() -> None:
    module = hm.parse(chain(70))
    assert [module.computation(f"f{k}").times for k in (69, 68, 7)] == [1, 2, 2**62]
    assert module.computation("f6").times == module.computation("f0").times == hm.Unknown("more than 2**63 - 1 times")


def test_asking_for_each_computation_takes_one_walk() -> None:
    def n_calls(n: int) -> int:
        computations = hm.parse(chain(n)).computations
        count = 0

        def counted(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in {"call", "c_call"}

        sys.setprofile(counted)
        try:
            for computation in computations:
                _ = computation.times
        finally:
            sys.setprofile(None)
        return count

    n_calls(3)
    few, many = n_calls(100), n_calls(300)
    assert 300 < many <= 3 * few + 300
