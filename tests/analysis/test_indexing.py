"""Maps through programs: fusions, nested calls, many users, runtime variables, limits, unknown values."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import hlomap as hm


def parsed(text: str) -> hm.Module:
    return hm.parse("HloModule t\n" + text)


def texts(found: hm.MapSet) -> list[str]:
    return [str(m).partition(", runtime:")[0] for m in found]


def results(found: hm.MapSet) -> list[str]:
    return [text.partition(", domain:")[0] for text in texts(found)]


# ------------------------------------------------------------------------------------------------ fusions and regions

CHAIN = """
inner {
  a = f32[6] parameter(0)
  ROOT r = f32[2,3] reshape(a)
}
f {
  x = f32[6] parameter(0)
  y = f32[3,2] parameter(1)
  n = f32[2,3] fusion(x), kind=kLoop, calls=inner
  t = f32[3,2] transpose(n), dimensions={1,0}
  ROOT s = f32[3,2] add(t, y)
}
ENTRY e {
  p = f32[6] parameter(0)
  q = f32[3,2] parameter(1)
  ROOT r = f32[3,2] fusion(p, q), kind=kLoop, calls=f
}
"""


def test_fusion_ends_at_parameters_and_operands() -> None:
    module = parsed(CHAIN)
    root = module.entry.root
    found = hm.indexing(root)
    f, inner = module.computation("f"), module.computation("inner")
    assert next(iter(found)) == root
    assert set(found) == {
        root, f["s"], f["t"], f["y"], f["n"], inner["r"], inner["a"], f["x"], module.entry["p"], module.entry["q"],
    }  # fmt: skip
    assert results(found[module.entry["p"]]) == ["(d0, d1) -> (d0 + d1 * 3)"]
    assert texts(found[inner["a"]]) == texts(found[f["x"]]) == texts(found[module.entry["p"]])
    assert results(found[inner["r"]]) == ["(d0, d1) -> (d1, d0)"]
    assert found[module.entry["p"]][0].use == (root, 0)
    assert found[f["x"]][0].use == (f["n"], 0)
    order = list(found)
    for instruction in order:
        for operand in instruction.operands:
            if operand in found and instruction in found:
                assert order.index(instruction) < order.index(operand)


def test_nested_fusion_is_composed() -> None:
    root = parsed(CHAIN).entry.root
    there = hm.output_to_input(root)
    assert [results(found) for found in there] == [["(d0, d1) -> (d0 + d1 * 3)"], ["(d0, d1) -> (d0, d1)"]]
    assert results(hm.input_to_output(root, 0)[0]) == ["(d0) -> (d0 mod 3, d0 floordiv 3)"]
    assert results(hm.input_to_output(root, 1)[0]) == ["(d0, d1) -> (d0, d1)"]


def test_default_regions() -> None:
    module = parsed(CHAIN)
    f = module.computation("f")
    inner = module.computation("inner")
    assert set(hm.indexing(f["t"])) == {f["t"], f["n"], f["x"], inner["r"], inner["a"]}
    assert set(hm.indexing(f)) >= {f["s"], f["x"], f["y"]}
    plain = parsed("ENTRY e {\n p = f32[3] parameter(0)\n n = f32[3] negate(p)\n ROOT m = f32[3] negate(n)\n}")
    assert list(hm.indexing(plain.entry["m"])) == [plain.entry["m"], plain.entry["n"]]


def test_within_sees_a_producer_as_if_fused() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[6] parameter(0)
  producer = f32[2,3] reshape(p)
  other = f32[3,2] parameter(1)
  consumer = f32[3,2] transpose(producer), dimensions={1,0}
  ROOT s = f32[3,2] add(consumer, other)
}"""
    )
    e = module.entry
    found = hm.indexing(e["consumer"], within=[e["producer"], e["consumer"]])
    assert list(found) == [e["consumer"], e["producer"], e["p"]]
    assert results(found[e["p"]]) == ["(d0, d1) -> (d0 + d1 * 3)"]
    alone = hm.indexing(e["consumer"])
    assert list(alone) == [e["consumer"], e["producer"]]


def test_multi_output_fusion() -> None:
    module = parsed(
        """
f {
  a = f32[6] parameter(0)
  s = f32[2,3] reshape(a)
  n = f32[6] reverse(a), dimensions={0}
  pair = (f32[6], f32[6]) tuple(n, a)
  ROOT r = (f32[2,3], (f32[6], f32[6])) tuple(s, pair)
}
ENTRY e {
  p = f32[6] parameter(0)
  ROOT r = (f32[2,3], (f32[6], f32[6])) fusion(p), kind=kLoop, calls=f
}"""
    )
    root = module.entry.root
    assert results(hm.output_to_input(root, 0)[0]) == ["(d0, d1) -> (d0 * 3 + d1)"]
    assert results(hm.output_to_input(root, (1, 0))[0]) == ["(d0) -> (-d0 + 5)"]
    assert results(hm.output_to_input(root, (1, 1))[0]) == ["(d0) -> (d0)"]
    # The shape index of a tuple selects all its leaves.
    assert results(hm.output_to_input(root, 1)[0]) == ["(d0) -> (-d0 + 5)", "(d0) -> (d0)"]
    first, second = hm.input_to_output(root)
    assert [m.shape_index for m in first] == [(0,)]
    assert [m.shape_index for m in second] == [(1, 0), (1, 1)]
    assert results(hm.indexing(root, (1, 0))[module.entry["p"]]) == ["(d0) -> (-d0 + 5)"]


def test_unused_operand_is_not_read() -> None:
    module = parsed(
        """
f {
  a = f32[2] parameter(0)
  b = f32[3] parameter(1)
  ROOT n = f32[2] negate(a)
}
ENTRY e {
  p = f32[2] parameter(0)
  q = f32[3] parameter(1)
  ROOT r = f32[2] fusion(p, q), kind=kLoop, calls=f
}"""
    )
    root = module.entry.root
    unread = hm.indexing(root)[module.entry["q"]]
    assert len(unread) == 0 and unread.exact and not unread.is_unknown and not unread
    assert not hm.output_to_input(root)[1] and not hm.input_to_output(root, 1)[0]


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


def test_all_uses_of_one_map() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[3] parameter(0)
  a = f32[3] negate(p)
  b = f32[3] abs(p)
  c = f32[3] add(b, a)
  ROOT d = f32[3] multiply(c, p)
}"""
    )
    e = module.entry
    found = hm.indexing(e)[e["p"]]
    assert len(found) == 1
    assert found.uses(found[0]) == ((e["a"], 0), (e["b"], 0), (e["d"], 1))
    assert found[0].use == (e["a"], 0)


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


# ------------------------------------------------------------------------------------------------ runtime variables


def test_runtime_variables_keep_their_suppliers() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[11] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  a = f32[7] dynamic-slice(p, i), dynamic_slice_sizes={7}
  ROOT b = f32[3] dynamic-slice(a, j), dynamic_slice_sizes={3}
}"""
    )
    e = module.entry
    found = hm.indexing(e)[e["p"]]
    assert texts(found) == ["(d0){rt0, rt1} -> (d0 + rt0 + rt1), domain: d0 in [0, 2], rt0 in [0, 4], rt1 in [0, 4]"]
    assert [v.supplier for v in found[0].runtime] == [e["j"], e["i"]]
    assert [v.source for v in found[0].runtime] == [e["j"].number, e["i"].number]


def test_equal_offsets_cancel() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[3] parameter(0)
  z = f32[11] parameter(1)
  i = s32[] parameter(2)
  u = f32[11] dynamic-update-slice(z, p, i)
  ROOT s = f32[3] dynamic-slice(u, i), dynamic_slice_sizes={3}
}"""
    )
    e = module.entry
    found = hm.indexing(e)
    assert results(found[e["p"]]) == ["(d0) -> (d0)"]
    assert len(found[e["z"]]) == 0 and found[e["z"]].exact


TWO_CALLS = """
f {
  x = f32[11] parameter(0)
  o = s32[] parameter(1)
  one = s32[] constant(1)
  k = s32[] add(o, one)
  s = f32[7] dynamic-slice(x, KEY), dynamic_slice_sizes={7}
  zero = f32[] constant(0)
  ROOT r = f32[11] pad(s, zero), padding=0_4
}
ENTRY e {
  p = f32[11] parameter(0)
  i = s32[] parameter(1)
  j = s32[] parameter(2)
  a = f32[11] call(p, i), to_apply=f
  ROOT b = f32[11] call(a, j), to_apply=f
}
"""


@pytest.mark.parametrize("key", ["o", "k"])
def test_two_calls_of_one_computation_have_two_offsets(key: str) -> None:
    module = parsed(TWO_CALLS.replace("KEY", key))
    e, f = module.entry, module.computation("f")
    (m,) = hm.indexing(e)[e["p"]]
    assert len(m.runtime) == 2
    suppliers = [v.supplier for v in m.runtime]
    assert suppliers == ([e["j"], e["i"]] if key == "o" else [f["k"], f["k"]])
    assert m.runtime[0].source != m.runtime[1].source


def test_offset_of_a_fusion_is_its_operand() -> None:
    module = parsed(
        """
f {
  x = f32[11] parameter(0)
  o = s32[] parameter(1)
  ROOT s = f32[7] dynamic-slice(x, o), dynamic_slice_sizes={7}
}
ENTRY e {
  p = f32[11] parameter(0)
  i = s32[] parameter(1)
  ROOT b = f32[7] fusion(p, i), kind=kLoop, calls=f
}"""
    )
    e, f = module.entry, module.computation("f")
    for m in (hm.output_to_input(e.root)[0][0], hm.input_to_output(e.root)[0][0], hm.indexing(e.root)[e["p"]][0]):
        assert m.runtime[0].supplier == e["i"]
    assert hm.indexing(e.root)[f["x"]][0].runtime[0].supplier == f["o"]


# ------------------------------------------------------------------------------------------------ unknown and errors


def test_unknown_propagates_with_its_reason() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[4,4] parameter(0)
  q = f32[4,4] parameter(1)
  c = f32[4,4] custom-call(p), custom_call_target="mystery"
  t = f32[4,4] transpose(c), dimensions={1,0}
  ROOT a = f32[4,4] add(t, q)
}"""
    )
    e = module.entry
    found = hm.indexing(e)
    assert found[e["c"]].exact
    assert found[e["p"]].is_unknown and "custom-call" in str(found[e["p"]].reason)
    assert found[e["q"]].exact and not found[e["q"]].is_unknown
    assert hm.output_to_input(e["c"])[0].is_unknown
    assert hm.input_to_output(e["c"])[0].is_unknown


def test_unknown_leaves_do_not_affect_the_others() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[4] parameter(0)
  q = f32[4] parameter(1)
  c = f32[4] custom-call(p), custom_call_target="mystery"
  t = (f32[4], f32[4]) tuple(c, q)
  ROOT g = f32[4] get-tuple-element(t), index=1
}"""
    )
    e = module.entry
    found = hm.indexing(e)
    assert not found[e["p"]].is_unknown and len(found[e["p"]]) == 0
    assert results(found[e["q"]]) == ["(d0) -> (d0)"]


def test_positions_beyond_64_bits_are_unknown() -> None:
    module = parsed(
        f"""
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}
ENTRY e {{
  p = f32[4] parameter(0)
  i = f32[] parameter(1)
  r = f32[7] reduce-window(p, i), window={{size=1 stride={2**61} lhs_dilate={2**62}}}, to_apply=add
  ROOT n = f32[7] negate(r)
}}"""
    )
    e = module.entry
    assert hm.output_to_input(e["r"])[0].is_unknown
    assert hm.input_to_output(e["r"])[0].is_unknown
    assert hm.indexing(e)[e["p"]].is_unknown
    assert "64 bits" in str(hm.indexing(e)[e["p"]].reason)
    assert hm.output_to_input(e["n"])[0].exact


def test_sizes_near_64_bits_are_fine() -> None:
    n = 2**62
    module = parsed(f"ENTRY e {{\n p = pred[{n}] parameter(0)\n ROOT r = pred[{n // 2},2] reshape(p)\n}}")
    assert results(hm.output_to_input(module.entry.root)[0]) == ["(d0, d1) -> (d0 * 2 + d1)"]


def test_tokens_have_no_elements() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[4] parameter(0)
  t = token[] after-all()
  ROOT a = f32[4] add-dependency(p, t)
}"""
    )
    there = hm.output_to_input(module.entry.root)
    assert results(there[0]) == ["(d0) -> (d0)"]
    assert len(there[1]) == 0 and there[1].exact
    assert not hm.input_to_output(module.entry.root, 1)[0]


@pytest.mark.parametrize("bad", [1, -1, (0, 0), (2,)])
def test_outputs_that_do_not_exist(bad: Any) -> None:
    root = parsed("ENTRY e {\n p = f32[4] parameter(0)\n ROOT n = f32[4] negate(p)\n}").entry.root
    with pytest.raises(hm.errors.ShapeError):
        hm.output_to_input(root, bad)
    with pytest.raises(hm.errors.ShapeError):
        hm.indexing(root, bad)
    with pytest.raises(hm.errors.ShapeError):
        hm.input_to_output(root, bad if bad != (0, 0) else (0, 1))


def test_physical_maps() -> None:
    module = parsed(
        """
ENTRY e {
  p = f32[2,3]{1,0} parameter(0)
  b = f32[3,2]{0,1} bitcast(p)
  c = f32[3,2]{1,0} copy(b)
  i = f32[] parameter(1)
  q = f32[4,3]{1,0} pad(c, i), padding=0_1x0_1
  ROOT t = (f32[4,3]{0,1}) tuple(q)
}"""
    )
    e = module.entry
    assert results(hm.output_to_input(e["b"], physical=True)[0]) == ["(d0) -> (d0)"]
    assert results(hm.input_to_output(e["b"], physical=True)[0]) == ["(d0) -> (d0)"]

    def is_map(found: hm.MapSet, text: str) -> bool:
        return [hm.IndexingMap.parse(text).simplify()] == list(found)

    assert is_map(
        hm.output_to_input(e["c"], physical=True)[0], "(d0) -> ((d0 mod 2) * 3 + d0 floordiv 2), domain: d0 in [0, 5]"
    )
    assert is_map(
        hm.input_to_output(e["q"], physical=True)[0], "(d0) -> ((d0 floordiv 2) * 3 + d0 mod 2), domain: d0 in [0, 5]"
    )
    (there,) = hm.output_to_input(e["t"], physical=True)
    (back,) = hm.input_to_output(e["t"], physical=True)
    assert is_map(there, "(d0) -> ((d0 mod 4) * 3 + d0 floordiv 4), domain: d0 in [0, 11]")
    assert is_map(back, "(d0) -> ((d0 mod 3) * 4 + d0 floordiv 3), domain: d0 in [0, 11]") and back[0].shape_index == (
        0,
    )


def element_pairs(maps: hm.MapSet) -> set[tuple[tuple[int, ...], tuple[int, ...]]]:
    """All pairs of an element and one that a map reads from it, by enumeration."""
    pairs = set()
    for m in maps:
        boxes = [range(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
        points = np.array(list(itertools.product(*boxes)), np.int64).reshape(-1, len(boxes))
        d, s = points[:, : len(m.dims)], points[:, len(m.dims) :]
        held = m.in_domain(d, s)
        pairs |= set(zip(map(tuple, d[held].tolist()), map(tuple, m.evaluate(d[held], s[held]).tolist()), strict=True))
    return pairs


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
            logical = element_pairs(hm.output_to_input(instruction)[k])
            expected = {(permuted(o, instruction.shape), permuted(i, operand.shape)) for o, i in logical}
            assert element_pairs(hm.output_to_input(instruction, physical="dims")[k]) == expected
            (back,) = hm.input_to_output(instruction, k, physical="dims")
            assert {(o, i) for i, o in element_pairs(back)} == expected


def test_forms_of_physical_maps() -> None:
    module = hm.parse(
        "ENTRY e { p = f32[4,8]{0,1} parameter(0) ROOT t = f32[8,4]{1,0} transpose(p), dimensions={1,0} }"
    )
    t = module["t"]
    linear = [str(m) for m in hm.output_to_input(t, physical="linear")[0]]
    assert (
        linear == [str(m) for m in hm.output_to_input(t, physical=True)[0]] == ["(d0) -> (d0), domain: d0 in [0, 31]"]
    )
    assert [str(m) for m in hm.output_to_input(t, physical=False)[0]] == [str(m) for m in hm.output_to_input(t)[0]]
    for wrong in ("Dims", "", None, 2, b"dims"):
        for query in (hm.output_to_input, hm.input_to_output):
            with pytest.raises(ValueError, match="expected False, True, 'linear' or 'dims' as `physical`, got"):
                query(t, physical=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("layout", ["{1,0:T(0,2)}", "{0,0}", "{1,0:D(C,D)}"])
def test_physical_dims_of_an_invalid_layout_are_unknown(layout: str) -> None:
    text = f"ENTRY e {{ p = f32[4,8]{layout} parameter(0) ROOT n = f32[4,8]{{1,0}} negate(p) }}"
    module = hm.parse(text)
    for (maps,) in (hm.output_to_input(module["n"], physical="dims"), hm.input_to_output(module["n"], physical="dims")):
        assert maps.is_unknown and maps.reason is not None and maps.reason.startswith("layout: ")


def test_elements_in_buffers_are_unknown() -> None:
    """Not unread: a buffer has no array, but what comes out of it depends on what went in."""
    module = hm.parse(
        """HloModule m
    ENTRY e {
      p = f32[8] parameter(0)
      u = f32[2] parameter(1)
      z = s32[] constant(3)
      b = b(f32[8]) custom-call(p), custom_call_target="Pin"
      d = b(f32[8]) dynamic-update-slice(b, u, z)
      ROOT r = f32[8] custom-call(d), custom_call_target="Unpin"
    }""",
        strict=True,
    )
    assert [found.is_unknown for found in hm.output_to_input(module.entry)] == [True, True]
    assert [found.is_unknown for found in hm.output_to_input(module["d"])] == [True, True, True]
    assert hm.input_to_output(module["d"], 1)[0].is_unknown
