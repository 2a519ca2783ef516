"""Whole-module slices: from an output, or from an instruction anywhere, to elements of the entry's parameters."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
from conftest import read_cases
from support import map_pairs

import hlomap as hm


def results(maps: hm.MapSet) -> set[str]:
    return {", ".join(map(str, m.results)) for m in maps}


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
    return {(m.shape_index, *pair) for m in maps for pair in map_pairs.pairs(m)}


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
    entry = read_cases(Path(__file__).parent / "answers" / "slices.hlo")[0].module.entry
    for parameter in entry.parameters:
        found = hm.forward_slice(parameter)
        assert next(iter(found)) == parameter
        for value in entry.instructions:
            assert inverted(value, parameter, ()) <= pairs(found.get(value, hm.MapSet())), (parameter.name, value.name)


def test_slices_are_copied_and_pickled() -> None:
    found = hm.backward_slice(hm.parse("ENTRY e { x.1 = f32[3] parameter(0) ROOT n = f32[3] negate(x.1) }").entry)
    assert copy.copy(found) == found and pickle.loads(pickle.dumps(found))["x.1"] == found["x.1"]


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
        assert map_pairs.all_pairs(own) == map_pairs.all_pairs(composed), parameter.name
        assert max(len(m.ranges) for m in own) <= (2 if "dilate" in window else 1), str(own)
    forward = hm.forward_slice(module.entry.parameters[0])[module.entry.root]
    (composed,) = hm.input_to_output(module.entry)
    assert forward.exact
    assert map_pairs.all_pairs(forward) == map_pairs.all_pairs(composed)


def scattered_elements(starts: list[int]) -> str:
    """The sum of single elements of an array."""
    lines = [f"s{i} = f32[1] slice(p), slice={{[{k}:{k + 1}]}}" for i, k in enumerate(starts)]
    sums = [f"a{i} = f32[1] add({f'a{i - 1}' if i > 1 else 's0'}, s{i})" for i in range(1, len(starts))]
    head = f"p = f32[{max(starts) + 1}] parameter(0)"
    return "\n".join(["ENTRY e {", head, *lines, *sums[:-1], f"ROOT {sums[-1]}", "}"])


@pytest.mark.parametrize(
    ("n_groups", "n_of_group", "n_maps"),
    [
        (32, 5, 16),  # the groups become progressions, two of them one map
        (33, 4, None),  # 17 maps would be searched again at the next value
        (7, 73, 4),  # 511 maps
        (8, 64, None),  # 512 maps take too long to search
    ],
)
def test_scattered_elements_become_few_maps_or_a_box(n_groups: int, n_of_group: int, n_maps: int | None) -> None:
    starts = [100 * g * g + 3 * k for g in range(1, n_groups + 1) for k in range(n_of_group)]
    module = hm.parse(scattered_elements(starts))
    maps = hm.backward_slice(module.entry.root)[module["p"]]
    elements = {k for (k,) in map_pairs.elements(maps)}
    if n_maps is None:
        assert (len(maps), maps.exact, maps.reason) == (1, False, "the maps of p exceed the budget")
        assert elements >= set(starts)
    else:
        assert (len(maps), maps.exact) == (n_maps, True) and elements == set(starts)
