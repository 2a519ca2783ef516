"""Whole-module slices: from an output, or from an instruction anywhere, to elements of the entry's parameters."""

from __future__ import annotations

import hlomap as hm

MODULE = """HloModule m
body {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[8] get-tuple-element(s), index=1
  b = f32[8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  r = f32[8] reverse(a), dimensions={0}
  c = f32[8] add(r, b)
  ROOT t = (s32[], f32[8], f32[8]) tuple(j, c, b)
}
condition {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT
}
left {
  x = f32[8] parameter(0)
  ROOT lx = f32[8] reverse(x), dimensions={0}
}
right {
  y = f32[8] parameter(0)
  ROOT ry = f32[8] negate(y)
}
square {
  z = f32[8] parameter(0)
  ROOT zz = f32[8] multiply(z, z)
}
add {
  u = f32[] parameter(0)
  v = f32[] parameter(1)
  ROOT w = f32[] add(u, v)
}
ENTRY e {
  p = f32[8] parameter(0)
  q = f32[16] parameter(1)
  k = pred[] parameter(2)
  unread = f32[3] parameter(3)
  h = f32[8] slice(q), slice={[4:12]}
  zero = s32[] constant(0)
  init = (s32[], f32[8], f32[8]) tuple(zero, p, h)
  loop = (s32[], f32[8], f32[8]) while(init), condition=condition, body=body
  kept = f32[8] get-tuple-element(loop), index=2
  changed = f32[8] get-tuple-element(loop), index=1
  branch = f32[8] conditional(k, kept, p), true_computation=left, false_computation=right
  first = f32[8] call(branch), to_apply=square
  second = f32[8] call(changed), to_apply=square
  f0 = f32[] constant(0)
  total = f32[] reduce(p, f0), dimensions={0}, to_apply=add
  ROOT out = (f32[8], f32[8], f32[], f32[8]) tuple(first, second, total, kept)
}
"""


def sliced(name: str, output: int | tuple[int, ...] = 0, computation: str = "e") -> dict[str, hm.MapSet]:
    module = hm.parse(MODULE)
    found = hm.backward_slice(module.computation(computation)[name], output)
    return {parameter.name: maps for parameter, maps in found.items()}


def results(maps: hm.MapSet) -> set[str]:
    return {", ".join(map(str, m.results)) for m in maps}


def test_through_a_loop_what_is_carried_unchanged_is_itself() -> None:
    found = sliced("out", 3)
    assert list(found) == ["q"]
    assert results(found["q"]) == {"d0 + 4"} and found["q"].exact


def test_through_loop_branch_and_call() -> None:
    found = sliced("out", 0)
    assert list(found) == ["p", "q", "k"]
    assert results(found["q"]) == {"-d0 + 11"} and results(found["p"]) == {"d0"}
    assert not found["q"].exact
    changed = sliced("out", 1)
    assert results(changed["p"]) == {"d0", "-d0 + 7"} and results(changed["q"]) == {"d0 + 4", "-d0 + 11"}


def test_both_ways_through_a_whole_computation() -> None:
    module = hm.parse(MODULE)
    there = hm.output_to_input(module.entry, 3)
    assert [results(maps) for maps in there] == [set(), {"d0 + 4"}, set(), set()]
    back = hm.input_to_output(module.entry, 1)
    assert results(back[3]) == {"d0 - 4"} and back[3][0].index == (3,)
    assert not back[2] and results(hm.input_to_output(module.entry, 0)[2]) == {""}
    walked = hm.indexing(module.entry, 0)
    for parameter, maps in zip(module.entry.parameters, hm.output_to_input(module.entry, 0), strict=True):
        assert maps == walked.get(parameter, hm.MapSet())


def test_from_inside_a_loop() -> None:
    found = sliced("r", 0, "body")
    assert results(found["p"]) == {"d0", "-d0 + 7"} and not found["p"].exact
    assert results(sliced("b", 0, "body")["q"]) == {"d0 + 4"}
    assert sliced("j", 0, "body") == {}


def test_from_inside_branches_and_computations_called_twice() -> None:
    assert set(sliced("ry", 0, "right")) == {"p"}
    assert results(sliced("lx", 0, "left")["q"]) == {"-d0 + 11"}
    both = sliced("zz", 0, "square")
    assert set(both) == {"p", "q", "k"} and not both["p"].exact


def test_from_inside_what_is_applied_to_elements_anything_may_be_meant() -> None:
    found = sliced("w", 0, "add")
    assert list(found) == ["p"] and not found["p"].exact
    assert [str(m) for m in found["p"]] == ["()[s0] -> (s0), domain: s0 in [0, 7]"]


def test_unknown_stays_unknown_on_its_way_up() -> None:
    module = hm.parse("""HloModule m
f {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  u = f32[2] custom-call(a), custom_call_target="mystery"
  n = f32[2] negate(b)
  ROOT t = (f32[2], f32[2]) tuple(u, n)
}
ENTRY e {
  p = f32[2] parameter(0)
  q = f32[2] parameter(1)
  ROOT r = (f32[2], f32[2]) fusion(p, q), kind=kLoop, calls=f
}""")
    found = hm.backward_slice(module["u"])
    assert [p.name for p in found] == ["p"] and found[module["p"]].is_unknown
    assert [p.name for p in hm.backward_slice(module["n"])] == ["q"]


def test_deep_calls_do_not_recurse_nor_blow_up() -> None:
    depth = 400
    calls = "".join(
        f"c{i} {{\n p{i} = f32[2] parameter(0)\n a{i} = f32[2] call(p{i}), to_apply=c{i + 1}\n"
        f" ROOT b{i} = f32[2] call(a{i}), to_apply=c{i + 1}\n}}\n"
        for i in reversed(range(depth))
    )
    last = f"c{depth} {{\n p{depth} = f32[2] parameter(0)\n ROOT n = f32[2] reverse(p{depth}), dimensions={{0}}\n}}\n"
    text = (
        f"HloModule m\n{last}{calls}ENTRY e {{\n p = f32[2] parameter(0)\n ROOT r = f32[2] call(p), to_apply=c0\n}}\n"
    )
    module = hm.parse(text)
    ((parameter, maps),) = hm.backward_slice(module["n"]).items()
    assert parameter.name == "p" and results(maps) == {"d0", "-d0 + 1"}
