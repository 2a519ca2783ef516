"""Whole-module slices: from an output, or from an instruction anywhere, to elements of the entry's parameters."""

from __future__ import annotations

import copy
import pickle
from itertools import product

import numpy as np
import pytest

import hlomap as hm
from hlomap.errors import ShapeError
from hlomap.maps.enumerate_pairs import enumerate_points

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


def test_loop_invariant_values_have_the_identity_map() -> None:
    found = sliced("out", 3)
    assert list(found) == ["q"]
    assert results(found["q"]) == {"d0 + 4"} and found["q"].exact


def test_an_offset_that_is_rounded_from_a_float_does_not_change_in_a_loop() -> None:
    state = "(s32[], f32[], f32[4,3], f32[10,3])"
    module = hm.parse(f"""
body {{
  s = {state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  f = f32[] get-tuple-element(s), index=1
  table = f32[4,3] get-tuple-element(s), index=2
  out = f32[10,3] get-tuple-element(s), index=3
  k = s32[] convert(f32[] exponential(f))
  zero = s32[] constant(0)
  row = f32[1,3] dynamic-slice(table, k, zero), dynamic_slice_sizes={{1,3}}
  after = f32[10,3] dynamic-update-slice(out, row, i, zero)
  ROOT x = {state} tuple(s32[] add(i, s32[] constant(1)), f, table, after)
}}
condition {{
  s = {state} parameter(0)
  ROOT l = pred[] compare(s32[] get-tuple-element(s), index=0, s32[] constant(10)), direction=LT
}}
ENTRY e {{
  t = {state} tuple(s32[] constant(0), f32[] parameter(0), f32[4,3] parameter(1), f32[10,3] parameter(2))
  w = {state} while(t), condition=condition, body=body
  ROOT g = f32[10,3] get-tuple-element(w), index=3
}}""")
    maps = hm.backward_slice(module)[module.entry.parameters[1]]
    assert maps.exact and results(maps) == {"rt0, d1"}


def test_slices_through_loop_branch_and_call() -> None:
    found = sliced("out", 0)
    assert list(found) == ["p", "q", "k"]
    assert results(found["q"]) == {"-d0 + 11"} and results(found["p"]) == {"d0"}
    assert found["q"].exact
    changed = sliced("out", 1)
    assert results(changed["p"]) == {"-d0 + 7"} and results(changed["q"]) == {"d0 + 4", "-d0 + 11"}


def test_both_directions_through_a_computation() -> None:
    module = hm.parse(MODULE)
    there = hm.output_to_input(module.entry, 3)
    assert [results(maps) for maps in there] == [set(), {"d0 + 4"}, set(), set()]
    back = hm.input_to_output(module.entry, 1)
    assert results(back[3]) == {"d0 - 4"} and back[3][0].shape_index == (3,)
    assert not back[2] and results(hm.input_to_output(module.entry, 0)[2]) == {""}
    found = hm.indexing(module.entry, 0)
    for parameter, maps in zip(module.entry.parameters, hm.output_to_input(module.entry, 0), strict=True):
        assert maps == found.get(parameter, hm.MapSet())


def test_a_map_keeps_all_users_of_the_parameter() -> None:
    e = hm.parse(
        "ENTRY e { p = f32[4] parameter(0)  a = f32[4] negate(p)  b = f32[4] exponential(p) ROOT r = f32[4] add(a, b) }"
    ).entry
    (found,) = hm.backward_slice(e.root).values()
    assert found.uses(found[0]) == ((e["a"], 0), (e["b"], 0))


def test_slices_from_inside_a_loop() -> None:
    found = sliced("r", 0, "body")
    assert results(found["p"]) == {"d0", "-d0 + 7"} and not found["p"].exact
    assert results(sliced("b", 0, "body")["q"]) == {"d0 + 4"}
    assert sliced("j", 0, "body") == {}


def test_slices_from_inside_branches_and_computations_called_twice() -> None:
    assert set(sliced("ry", 0, "right")) == {"p"}
    assert results(sliced("lx", 0, "left")["q"]) == {"-d0 + 11"}
    both = sliced("zz", 0, "square")
    assert set(both) == {"p", "q", "k"} and not both["p"].exact


def test_slices_from_inside_applied_computations_are_overapproximate() -> None:
    found = sliced("w", 0, "add")
    assert list(found) == ["p"] and not found["p"].exact
    assert [str(m) for m in found["p"]] == ["()[s0] -> (s0), domain: s0 in [0, 7]"]


def test_unknown_propagates_to_the_parameters() -> None:
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


def test_deep_calls_take_linear_work_without_recursion() -> None:
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


Pair = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def pairs(maps: hm.MapSet) -> set[Pair]:
    """Shape index of the target, source element and target element, by enumeration."""
    found: set[Pair] = set()
    for m in maps:
        bounds = [range(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
        for point in product(*bounds):
            dims, ranges = point[: len(m.dims)], point[len(m.dims) :]
            if m.in_domain(dims, ranges):
                found.add((m.shape_index, dims, tuple(int(x) for x in m.evaluate(dims, ranges))))
    return found


def inverted(value: hm.Instruction, parameter: hm.Instruction, index: tuple[int, ...]) -> set[Pair]:
    """From elements of an array of the parameter to elements of a value, by slices backward from the value."""
    arrays = [(i,) for i in range(len(value.shape.tuple_shapes))] if value.shape.is_tuple else [()]
    found: set[Pair] = set()
    for array in arrays:
        maps = hm.backward_slice(value, array).get(parameter, hm.MapSet())
        found |= {(array, target, source) for at, source, target in pairs(maps) if at == index}
    return found


FORWARD = {
    "moves": """
  p = f32[4,3] parameter(0)
  q = f32[3] parameter(1)
  t = f32[3,4] transpose(p), dimensions={1,0}
  b = f32[3,4] broadcast(q), dimensions={0}
  s = f32[3,2] slice(t), slice={[0:3], [1:3]}
  a = f32[3,4] add(t, b)
  c = f32[3,6] concatenate(s, a), dimensions={1}
  ROOT r = f32[18] reshape(c)""",
    "pads": """
  p = f32[5] parameter(0)
  z = f32[] parameter(1)
  d = f32[11] pad(p, z), padding=1_1_1
  v = f32[11] reverse(d), dimensions={0}
  ROOT w = f32[11] add(d, v)""",
    "sums": """
  p = f32[2,3] parameter(0)
  q = f32[3,2] parameter(1)
  m = f32[2,2] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[] constant(0)
  ROOT r = f32[2] reduce(m, z), dimensions={1}, to_apply=add""",
    "tuples": """
  p = (f32[4], f32[2,2]) parameter(0)
  x = f32[4] get-tuple-element(p), index=0
  y = f32[2,2] get-tuple-element(p), index=1
  f = f32[4] reshape(y)
  v = f32[4] fusion(x), kind=kLoop, calls=turned
  n = f32[4] negate(v)
  ROOT t = (f32[4], f32[4], f32[2,2]) tuple(n, f, y)""",
}


@pytest.mark.parametrize("name", FORWARD)
def test_forward_is_the_inverse_of_backward(name: str) -> None:
    computations = """
add {
  u = f32[] parameter(0)
  v = f32[] parameter(1)
  ROOT w = f32[] add(u, v)
}
turned {
  i = f32[4] parameter(0)
  ROOT o = f32[4] reverse(i), dimensions={0}
}"""
    entry = hm.parse(f"HloModule m\n{computations}\nENTRY e {{{FORWARD[name]}\n}}").entry
    for parameter in entry.parameters:
        arrays = [(i,) for i in range(len(parameter.shape.tuple_shapes))] if parameter.shape.is_tuple else [()]
        reached = {}
        for index in arrays:
            found = hm.forward_slice(parameter, index)
            reached |= found
            for value in entry.instructions:
                maps = found.get(value, hm.MapSet())
                assert maps.exact and pairs(maps) == inverted(value, parameter, index), (parameter.name, value.name)
        assert set(hm.forward_slice(parameter)) == set(reached) and entry.root in reached


def test_forward_slices_through_loops_and_branches_are_sound() -> None:
    entry = hm.parse(MODULE).entry
    for parameter in entry.parameters:
        found = hm.forward_slice(parameter)
        assert next(iter(found)) == parameter
        for value in entry.instructions:
            assert inverted(value, parameter, ()) <= pairs(found.get(value, hm.MapSet())), (parameter.name, value.name)
    _, q, k, unread = entry.parameters
    assert list(hm.forward_slice(unread)) == [unread]
    kept = hm.forward_slice(q)[entry["kept"]]
    assert results(kept) == {"d0 - 4"} and kept.exact
    assert not hm.forward_slice(k)[entry["branch"]].is_unknown and entry["total"] not in hm.forward_slice(k)


def test_unknown_propagates_forward() -> None:
    module = hm.parse("""ENTRY e {
  p = f32[2] parameter(0)
  q = f32[2] parameter(1)
  u = f32[2] custom-call(p), custom_call_target="mystery"
  n = f32[2] negate(q)
  ROOT a = f32[2] add(u, n)
}""")
    p, q = module.entry.parameters
    found = hm.forward_slice(p)
    assert [value.name for value in found] == ["p", "u", "a"]
    assert [maps.is_unknown for maps in found.values()] == [False, True, True]
    assert results(hm.forward_slice(q)[module.entry.root]) == {"d0"}
    unnamed = hm.parse("ENTRY e {\n  p = f32[2] parameter(0)\n  ROOT n = f32[2] negate()\n}").entry
    found = hm.forward_slice(unnamed.parameters[0])
    assert [maps.is_unknown for maps in found.values()] == [False, True]


def test_forward_slices_start_at_entry_parameters() -> None:
    module = hm.parse(MODULE)
    for wrong in (module.entry.root, module.entry["loop"].called_computations[0].parameters[0]):
        with pytest.raises(ShapeError, match="is not a parameter of the entry computation e"):
            hm.forward_slice(wrong)
    with pytest.raises(ShapeError, match="no parameter 3"):
        hm.forward_slice(module.entry.parameters[0], 3)


def test_forward_slices_that_cross_devices_are_marked() -> None:
    entry = hm.parse("""ENTRY e {
  p = f32[2] parameter(0)
  c = f32[2] collective-permute(p), source_target_pairs={{0,1},{1,0}}
  ROOT n = f32[2] negate(c)
}""").entry
    found = hm.forward_slice(entry.parameters[0])
    assert results(found[entry.root]) == {"d0"} and found[entry.root].devices is not None
    assert found[entry.parameters[0]].devices is None


def test_a_computation_stands_for_its_root() -> None:
    module = hm.parse("ENTRY e { x.1 = f32[3] parameter(0) ROOT n = f32[3] negate(x.1) }")
    assert hm.backward_slice(module.entry) == hm.backward_slice(module.entry.root) != {}


def test_keys_by_name() -> None:
    """All dictionaries from instructions find one by its name; a missing one lists those that are there."""
    module = hm.parse(
        "f { x.1 = f32[3] parameter(0) ROOT n = f32[3] negate(x.1) }"
        "ENTRY e { x.1 = f32[3] parameter(0) y = f32[3] parameter(1) ROOT c = f32[3] call(x.1), to_apply=f }"
    )
    x, y = module.entry.parameters
    assert hm.indexing(module.entry)["n"].exact  # type: ignore[index]
    for found in (hm.backward_slice(module.entry.root), hm.forward_slice(x)):
        assert found["%x.1"] is found[x]  # type: ignore[index]
        assert copy.copy(found) == found
        assert pickle.loads(pickle.dumps(found))["x.1"] == found[x]
    sliced = hm.backward_slice(module.entry.root)
    for key in ("x", "y", y):
        name = key if isinstance(key, str) else key.name
        with pytest.raises(hm.errors.NotFoundError, match=rf"^no instruction `{name}` here; there are `x\.1`$"):
            sliced[key]  # type: ignore[index]
    with pytest.raises(KeyError, match="3"):
        sliced[3]  # type: ignore[index]
    with pytest.raises(hm.errors.NotFoundError, match=r"several instructions are named `x\.1`, in f, e: use"):
        hm.indexing(module.entry)["x.1"]  # type: ignore[index]
    with pytest.raises(hm.errors.NotFoundError, match="no instruction `x` here; c needs no elements of any"):
        hm.backward_slice(hm.parse("ENTRY e { ROOT c = f32[] constant(1) }").entry.root)["x"]  # type: ignore[index]


def _pairs(maps: hm.MapSet, n_results: int) -> set[tuple[int, ...]]:
    found: set[tuple[int, ...]] = set()
    for m in maps:
        at, image = enumerate_points(m, [1 << 10] * len(m.dims), [1 << 10] * n_results, {}, 1 << 20)
        found |= set(map(tuple, np.concatenate([at, image], axis=1).tolist()))
    return found


@pytest.mark.parametrize(
    "window", ["size=3 pad=1_1", "size=3 pad=0_2", "size=2 pad=3_0 rhs_dilate=2", "size=3 stride=2"]
)
def test_windows_over_windows_are_one_window(window: str) -> None:
    """A slice has one range for a chain of windows, and the pairs of the composed rules with a range for each."""
    sizes = {"size=2 pad=3_0 rhs_dilate=2": [9, 10, 11, 12], "size=3 stride=2": [31, 15, 7, 3]}.get(window, [7] * 4)
    lines = [
        f"c{i + 1} = f32[1,1,{size}] convolution(c{i}, k), window={{{window}}}, dim_labels=bf0_oi0->bf0"
        for i, size in enumerate(sizes[1:])
    ]
    n_taps = window[5]
    module = hm.parse(
        f"ENTRY e {{ c0 = f32[1,1,{sizes[0]}] parameter(0) k = f32[1,1,{n_taps}] parameter(1) {' '.join(lines)}"
        f" ROOT r = f32[1,1,{sizes[-1]}] negate(c3) }}"
    )
    backward = hm.backward_slice(module.entry.root)
    for parameter, composed in zip(module.entry.parameters, hm.output_to_input(module.entry), strict=True):
        own = backward[parameter]
        assert own.exact and composed.exact
        assert _pairs(own, 3) == _pairs(composed, 3), parameter.name
        assert max(len(m.ranges) for m in own) <= (2 if "dilate" in window else 1), str(own)
    forward = hm.forward_slice(module.entry.parameters[0])[module.entry.root]
    (composed,) = hm.input_to_output(module.entry)
    assert forward.exact
    assert _pairs(forward, 3) == _pairs(composed, 3)


def test_windows_in_computations_that_call_each_other_are_one_window() -> None:
    convolution = "f32[1,1,9] convolution(p, k), window={size=3 pad=1_1}, dim_labels=bf0_oi0->bf0"
    head = "p = f32[1,1,9] parameter(0) k = f32[1,1,3] parameter(1)"
    bodies = [f"f0 {{ {head} ROOT r = {convolution} }}"]
    bodies += [
        f"f{i} {{ {head} c = {convolution} ROOT r = f32[1,1,9] call(c, k), to_apply=f{i - 1} }}" for i in range(1, 6)
    ]
    entry = f"ENTRY e {{ {head} ROOT r = f32[1,1,9] call(p, k), to_apply=f5 }}"
    module = hm.parse("HloModule m\n" + "\n".join([*bodies, entry]))
    (window,) = hm.backward_slice(module.computation("f0"))["p"]
    expected = "(d0, d1, d2)[s0] -> (0, 0, s0), domain: d0 in [0, 0], d1 in [0, 0], d2 in [0, 8], s0 in [0, 8]"
    assert str(window) == f"{expected}, d2 - s0 in [-6, 6]"


def test_lineage_lists_the_uses_on_the_way() -> None:
    module = hm.parse("""ENTRY e {
      p = f32[4] parameter(0)
      q = f32[4] parameter(1)
      n = f32[4] negate(p)
      m = f32[4] multiply(n, n)
      ROOT a = f32[4] add(m, q)
    }""")

    def uses(found: hm.results.Slice) -> list[tuple[str, str, int]]:
        return [(operand.name, user.name, number) for operand, user, number in found.lineage()]

    to_n = [("n", "m", 0), ("n", "m", 1)]
    assert uses(hm.backward_slice(module["m"])) == [*to_n, ("p", "n", 0)]
    assert uses(hm.forward_slice(module["p"])) == [("p", "n", 0), *to_n, ("m", "a", 0)]
    assert uses(hm.indexing(module.entry)) == [("m", "a", 0), ("q", "a", 1), *to_n, ("p", "n", 0)]
    graph = hm.forward_slice(module["p"]).to_networkx()
    n, m = module["n"], module["m"]
    assert graph.number_of_edges(n, m) == 2 and graph.nodes[m]["maps"].exact
    body = hm.parse(MODULE).computation("body")
    assert {user.name for _, user, _ in hm.backward_slice(body["c"]).lineage()} == {"c", "r", "a", "b"}
