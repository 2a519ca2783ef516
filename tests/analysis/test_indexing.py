"""Maps through programs: fusions, nested calls, many users, runtime variables, limits, unknown values."""

from __future__ import annotations

import random

import pytest
from support.map_pairs import all_pairs

import hlomap as hm
from hlomap.analysis.rule_cache import clear


def parsed(text: str) -> hm.Module:
    return hm.parse("HloModule t\n" + text)


def texts(found: hm.MapSet) -> list[str]:
    return [str(m).partition(", runtime:")[0] for m in found]


def results(found: hm.MapSet) -> list[str]:
    return [text.partition(", domain:")[0] for text in texts(found)]


# ------------------------------------------------------------------------------------------------------ many paths


def diamond(n: int, step: str) -> str:
    lines = ["  x0 = f32[7,7] parameter(0)"]
    for i in range(n):
        lines.append(f"  y{i} = f32[7,7] {step.format(f'x{i}')}")
        lines.append(f"  x{i + 1} = f32[7,7] add(x{i}, y{i})")
    lines.append(f"  ROOT r = f32[7,7] negate(x{n})")
    return "ENTRY e {\n" + "\n".join(lines) + "\n}"


def test_exponentially_many_paths_with_few_maps() -> None:
    module = parsed(diamond(40, "transpose({}), dimensions={{1,0}}"))
    found = hm.indexing(module.entry)[module.entry["x0"]]
    assert sorted(results(found)) == ["(d0, d1) -> (d0, d1)", "(d0, d1) -> (d1, d0)"]
    assert found.exact


def shifting(n: int, size: int) -> str:
    """Each step adds the value to a shifted copy of itself, so the number of distinct maps doubles."""
    lines = [f"  x0 = f32[{size}] parameter(0)"]
    length = size
    for i in range(n):
        length -= 2**i
        lines.append(f"  a{i} = f32[{length}] slice(x{i}), slice={{[0:{length}]}}")
        lines.append(f"  b{i} = f32[{length}] slice(x{i}), slice={{[{2**i}:{length + 2**i}]}}")
        lines.append(f"  x{i + 1} = f32[{length}] add(a{i}, b{i})")
    lines.append(f"  ROOT r = f32[{length}] negate(x{n})")
    return "ENTRY e {\n" + "\n".join(lines) + "\n}"


def test_too_many_maps_become_one_overapproximate_map() -> None:
    module = parsed(shifting(10, 3000))
    found = hm.indexing(module.entry)
    whole = found[module.entry["x0"]]
    assert not whole.exact and not whole.is_unknown and whole.reason is not None and "budget" in whole.reason
    assert len(whole) <= 4
    few = hm.indexing(parsed(shifting(6, 3000)).entry)
    last = list(few.values())[-1]
    assert last.exact and len(last) == 64


def test_expressions_that_grow_stay_bounded() -> None:
    lines = ["  x0 = f32[35] parameter(0)"]
    for i in range(64):
        lines.append(f"  a{i} = f32[5,7] reshape(x{i})")
        lines.append(f"  b{i} = f32[7,5] transpose(a{i}), dimensions={{1,0}}")
        lines.append(f"  x{i + 1} = f32[35] reshape(b{i})")
    lines.append("  ROOT r = f32[35] negate(x64)")
    found = hm.indexing(parsed("ENTRY e {\n" + "\n".join(lines) + "\n}").entry)
    assert all(found.values())


def test_long_chains_do_not_recurse() -> None:
    lines = ["  x0 = f32[7] parameter(0)"]
    lines += [f"  x{i + 1} = f32[7] negate(x{i})" for i in range(10_000)]
    lines.append("  ROOT r = f32[7] negate(x10000)")
    body = "\n".join(lines)
    module = parsed("ENTRY e {\n" + body + "\n}")
    found = hm.indexing(module.entry)
    assert len(found) == 10_002
    assert results(found[module.entry["x0"]]) == ["(d0) -> (d0)"]
    fused = parsed(
        f"f {{\n{body}\n}}\nENTRY e {{\n p = f32[7] parameter(0)\n ROOT r = f32[7] fusion(p), kind=kLoop, calls=f\n}}"
    )
    assert results(hm.output_to_input(fused.entry.root)[0]) == ["(d0) -> (d0)"]
    assert results(hm.input_to_output(fused.entry.root)[0]) == ["(d0) -> (d0)"]


def nested_calls(depth: int, uses: int) -> str:
    """Computation i calls computation i - 1 ``uses`` times in a row."""
    text = "c0 {\n  p = f32[5] parameter(0)\n  ROOT r = f32[5] reverse(p), dimensions={0}\n}\n"
    for i in range(1, depth + 1):
        lines = ["  x0 = f32[5] parameter(0)"]
        for k in range(uses):
            head = "ROOT " if k == uses - 1 else ""
            lines.append(f"  {head}x{k + 1} = f32[5] call(x{k}), to_apply=c{i - 1}")
        text += f"c{i} {{\n" + "\n".join(lines) + "\n}\n"
    return text + f"ENTRY e {{\n p = f32[5] parameter(0)\n ROOT r = f32[5] call(p), to_apply=c{depth}\n}}"


@pytest.mark.parametrize(("depth", "uses"), [(400, 1), (60, 3), (400, 2)])
def test_deep_calls(depth: int, uses: int) -> None:
    root = parsed(nested_calls(depth, uses)).entry.root
    expected = "(d0) -> (-d0 + 4)" if uses % 2 else "(d0) -> (d0)"
    assert results(hm.output_to_input(root)[0]) == [expected]
    assert results(hm.input_to_output(root)[0]) == [expected]
    assert results(hm.indexing(root)[root.operands[0]]) == [expected]


# ------------------------------------------------------------------------------------------------ unknown and errors


def permuted(element: tuple[int, ...], shape: hm.Shape) -> tuple[int, ...]:
    """The index of an element with its dimensions in memory order, major to minor."""
    order = range(len(element)) if shape.layout is None else reversed(shape.layout.minor_to_major)
    return tuple(element[d] for d in order)


@pytest.mark.parametrize("seed", range(25))
def test_physical_dims_permute_the_indices_of_both_sides(seed: int) -> None:
    pick = random.Random(seed)

    def layout(rank: int) -> str:
        order = ",".join(map(str, pick.sample(range(rank), rank)))
        return pick.choice(["", f"{{{order}}}", f"{{{order}:T(2,2)}}", f"{{{order}:T(*,2)(2,1)}}"])

    module = hm.parse(f"""HloModule m
ENTRY e {{
  p = f32[3,2,5]{layout(3)} parameter(0)
  t = f32[5,3,2]{layout(3)} transpose(p), dimensions={{2,0,1}}
  s = f32[2,3,2]{layout(3)} slice(t), slice={{[1:5:2],[0:3],[0:2]}}
  r = f32[6,2]{layout(2)} reshape(s)
  c = f32[6,1]{layout(2)} slice(r), slice={{[0:6],[1:2]}}
  w = f32[6,3]{layout(2)} concatenate(r, c), dimensions={{1}}
  ROOT b = f32[2,6,3]{layout(3)} broadcast(w), dimensions={{1,2}}
}}""")
    assert not module.diagnostics
    for name in "tsrcwb":
        instruction = module[name]
        for k, operand in enumerate(instruction.operands):
            logical = all_pairs(hm.output_to_input(instruction)[k])
            expected = {(permuted(o, instruction.shape), permuted(i, operand.shape)) for o, i in logical}
            assert all_pairs(hm.output_to_input(instruction, physical="dims")[k]) == expected
            (back,) = hm.input_to_output(instruction, k, physical="dims")
            assert {(o, i) for i, o in all_pairs(back)} == expected


TWICE = """HloModule m
shifted {
  x = f32[3] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  s = f32[2] dynamic-slice(x, i), dynamic_slice_sizes={2}
  zero = f32[] constant(0)
  zeros = f32[3] broadcast(zero), dimensions={}
  u = f32[3] dynamic-update-slice(zeros, s, j)
  ROOT r = f32[1] slice(u), slice={[1:2]}
}
ENTRY e {
  x = f32[3] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  same = ((f32[3], s32[], s32[]), f32[1]) async-start(x, i, i), calls=shifted
  other = ((f32[3], s32[], s32[]), f32[1]) async-start(x, i, j), calls=shifted
  a = f32[1] async-done(same)
  b = f32[1] async-done(other)
  ROOT r = f32[1] subtract(a, b)
}"""


@pytest.mark.parametrize("names", [("same", "other"), ("other", "same")])
def test_what_holds_for_an_operand_that_occurs_twice_does_not_for_two(names: tuple[str, str]) -> None:
    """Two offsets that are one value cancel out; a call with equal types may pass two values."""
    clear()
    module = hm.parse(TWICE)
    found = {name: str(hm.output_to_input(module[name], (1,))[0]) for name in names}
    assert found["same"] == "(d0) -> (1), domain: d0 in [0, 0]"
    assert found["other"].startswith("(d0){rt0, rt1} -> (-rt0 + rt1 + 1), domain: d0 in [0, 0]")
    # One question about both has a cache of its own.
    assert {str(m.results[0]) for m in hm.backward_slice(module.entry)["x"]} == {"1", "-rt0 + rt1 + 1"}
