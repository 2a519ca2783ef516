"""Operations and bytes: equal to XLA's on plain programs, and to a count by hand where XLA's differ.

``tests/cases/cost/equal.hlo`` and ``differs.hlo`` have programs as XLA compiles them, and single operations, each with
the figures of XLA's cost analysis; ``differs.hlo`` also has hlomap's and says why it is right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlomap as hm
from hlomap.ops import lookup, registered

CASES = Path(__file__).parents[1] / "cases" / "cost"


def _cases(name: str) -> Iterator[tuple[str, str, list[str], str]]:
    """The name of each case with that of its module, its comments and its text."""
    for block in re.split(r"(?m)^(?=// (?!XLA|hlomap).*\n// XLA: )", (CASES / f"{name}.hlo").read_text())[1:]:
        head, text = block.split("HloModule ", 1)
        title, *comments = [line.removeprefix("// ") for line in head.splitlines()]
        yield title, text.split(None, 1)[0], comments, "HloModule " + text


EQUAL, DIFFERS = [*_cases("equal")], [*_cases("differs")]


def _figures(flops: int, transcendentals: int, n_bytes: int) -> str:
    return f"{flops} flops, {transcendentals} transcendentals, {n_bytes} bytes"


def _of(text: str) -> str:
    found = hm.cost(hm.parse(text))
    assert found.bytes_read is not None and found.bytes_written is not None
    return _figures(found.flops, found.transcendentals, found.bytes_read + found.bytes_written)


@pytest.mark.parametrize(("title", "module", "comments", "text"), EQUAL)
def test_equal_to_xla(title: str, module: str, comments: list[str], text: str) -> None:
    assert [f"XLA: {_of(text)}"] == comments


@pytest.mark.parametrize(("title", "module", "comments", "text"), DIFFERS)
def test_differs_from_xla(title: str, module: str, comments: list[str], text: str) -> None:
    of_xla, own, why = comments
    assert f"hlomap: {_of(text)}" == own
    assert of_xla.removeprefix("XLA") != own.removeprefix("hlomap") and why


@pytest.mark.jax
def test_figures_of_xla() -> None:
    """The installed XLA counts as hlomap where the stored figures are equal, and only there."""
    import jax
    from jaxlib import _jax

    hlo = pytest.importorskip("jaxlib._hlo")
    client, wrong = jax.local_devices()[0].client, []
    for title, _, comments, text in (*EQUAL, *DIFFERS):
        found = _jax.hlo_module_cost_analysis(client, hlo.hlo_module_from_text(text))
        numbers = [int(found.get(key, 0)) for key in ("flops", "transcendentals", "bytes accessed")]
        is_equal = _figures(*numbers) == comments[min(1, len(comments) - 1)].partition(": ")[2]
        wrong += [title] if is_equal != (len(comments) == 1) else []
    assert not wrong


def test_every_opcode_has_the_trait() -> None:
    assert [o for o in registered() if lookup(o).operations is None and lookup(o).runs is None] == []


def _module(text: str) -> hm.Module:
    return hm.parse(
        f"HloModule m\nadd {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}\n{text}"
    )


SOFTMAX = _module("""
f {
  p = f32[8,16] parameter(0)
  z = f32[] constant(0)
  e = f32[8,16] exponential(p)
  r = f32[8] reduce(e, z), dimensions={1}, to_apply=add
  b = f32[8,16] broadcast(r), dimensions={0}
  ROOT d = f32[8,16] divide(e, b)
}
ENTRY e {
  x = f32[8,16] parameter(0)
  ROOT s = f32[8,16] fusion(x), kind=kLoop, calls=f
}""")


def test_recomputed_counts_paths_to_each_element() -> None:
    """Every output element evaluates the sum of its row, so each exponential 16 times, and once more for itself."""
    found = hm.cost(SOFTMAX["s"])
    assert {part.name: part.recomputed for part in found.parts} == {"d": 1.0, "r": 16.0, "e": 17.0}
    assert found.recomputed == (128 + 16 * 120 + 17 * 128) / (128 + 120 + 128)
    assert (found.bytes_read, found.bytes_reread, found.bytes_written) == (512, 512 * 16, 512)
    assert found.exact


def test_equal_paths_are_one_evaluation() -> None:
    module = _module("""
f { p = f32[9] parameter(0)  n = f32[9] negate(p)  e = f32[9] exponential(n)  ROOT m = f32[9] multiply(e, n) }
ENTRY e { x = f32[9] parameter(0)  ROOT r = f32[9] fusion(x), kind=kLoop, calls=f }""")
    found = hm.cost(module)
    assert (found.flops, found.transcendentals, found.recomputed, found.bytes_reread) == (18, 9, 1.0, 0)


def test_a_loop_multiplies_by_its_trip_count() -> None:
    module = _module("""
body { s = (s32[], f32[7]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  x = f32[7] get-tuple-element(s), index=1
  o = s32[] constant(1)  j = s32[] add(i, o)  y = f32[7] sine(x)  ROOT t = (s32[], f32[7]) tuple(j, y) }
cond { s = (s32[], f32[7]) parameter(0)  i = s32[] get-tuple-element(s), index=0  n = s32[] constant(10)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[7] parameter(0)  z = s32[] constant(0)  t = (s32[], f32[7]) tuple(z, x)
  ROOT w = (s32[], f32[7]) while(t), condition=cond, body=body }""")
    found = hm.cost(module)
    assert (found.flops, found.transcendentals, found.notes) == (10 + 11, 70, ())
    assert {part.name: part.times for part in found.parts} == {"j": 10, "y": 10, "c": 11}
    assert hm.cost(module["w"]).transcendentals == 70
    assert hm.cost(module["y"]).transcendentals == 7
    assert sum(part.flops for part in found.parts) == found.flops


def test_an_unknown_trip_count_is_one_iteration() -> None:
    module = _module("""
body { s = (pred[], f32[7]) parameter(0)  i = pred[] get-tuple-element(s), index=0
  x = f32[7] get-tuple-element(s), index=1
  y = f32[7] sine(x)  ROOT t = (pred[], f32[7]) tuple(i, y) }
cond { s = (pred[], f32[7]) parameter(0)  ROOT i = pred[] get-tuple-element(s), index=0 }
ENTRY e { p = pred[] parameter(0)  x = f32[7] parameter(1)  t = (pred[], f32[7]) tuple(p, x)
  ROOT w = (pred[], f32[7]) while(t), condition=cond, body=body }""")
    found = hm.cost(module)
    assert (found.transcendentals, found.exact) == (7, False)
    assert found.notes == ("w: unknown trip count, one iteration is counted",)


BRANCHES = _module("""
t { p = f32[64] parameter(0)  ROOT n = f32[64] negate(p) }
f { p = f32[64] parameter(0)  q = f32[64] negate(p)  ROOT s = f32[64] negate(q) }
ENTRY e { c = pred[] parameter(0)  x = f32[64] parameter(1)
  ROOT r = f32[64] conditional(c, x, x), true_computation=t, false_computation=f }""")


def test_a_conditional_is_its_dearest_branch() -> None:
    found = hm.cost(BRANCHES)
    assert (found.flops, [part.name for part in found.parts]) == (128, ["q", "s"])
    assert found.notes == ("r: counted as its dearest branch, f",)
    assert "dearest branch, f" in str(found)


def test_an_update_in_place_moves_the_update() -> None:
    module = _module("""
f { a = f32[64,16] parameter(0)  u = f32[1,16] parameter(1)  i = s32[] parameter(2)  z = s32[] constant(0)
  n = f32[1,16] negate(u)  b = f32[64,16] bitcast(a)  ROOT s = f32[64,16] dynamic-update-slice(b, n, i, z) }
g { a = f32[64,16] parameter(0)  u = f32[1,16] parameter(1)  i = s32[] parameter(2)  z = s32[] constant(0)
  n = f32[64,16] negate(a)  ROOT s = f32[64,16] dynamic-update-slice(n, u, i, z) }
ENTRY e { a = f32[64,16] parameter(0)  u = f32[1,16] parameter(1)  i = s32[] parameter(2)
  s = f32[64,16] fusion(a, u, i), kind=kLoop, calls=f
  ROOT r = f32[64,16] fusion(s, u, i), kind=kLoop, calls=g }""")
    inside, copied = hm.cost(module["s"]), hm.cost(module["r"])
    assert (inside.bytes_read, inside.bytes_written, inside.flops) == (64 + 4, 64, 16)
    assert copied.bytes_written == 64 * 64


def test_time_is_a_lower_bound_of_both() -> None:
    device = hm.Device("d", f32_flops_per_second=1000, dram_bytes_per_second=100)
    module = _module("""ENTRY e { a = f32[10,20] parameter(0)  b = f32[20,30] parameter(1)
      ROOT d = f32[10,30] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0} }""")
    found = hm.cost(module, device)
    assert found.time_at_least == max(2 * 10 * 20 * 30 / 1000, 4 * (200 + 600 + 300) / 100)
    assert hm.cost(module).time_at_least is None
    assert found.intensity == 12000 / 4400
    assert hm.cost(module, hm.Device("d", f32_flops_per_second=100)).time_at_least == 120
    assert hm.cost(module, hm.Device("nothing known")).time_at_least == 0


def test_what_is_not_known_has_a_note_and_no_part_in_the_bound() -> None:
    module = _module('ENTRY e { a = f32[8] parameter(0)  ROOT c = f32[8] custom-call(a), custom_call_target="mine" }')
    found = hm.cost(module, hm.Device("d", f32_flops_per_second=1, dram_bytes_per_second=1))
    assert (found.flops, found.exact, found.recomputed) == (0, False, None)
    assert found.notes == ("not counted: custom-call to 'mine' has no known operations",)
    assert found.time_at_least == 32  # what it writes; it may read nothing


def test_computations_that_call_each_other_end() -> None:
    deep = "".join(
        f"c{i} {{ p = f32[2] parameter(0)  ROOT r = f32[2] call(p), to_apply=c{i - 1} }}\n" for i in range(1, 3000)
    )
    module = _module(f"c0 {{ p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }}\n{deep}"
                     "ENTRY e { p = f32[2] parameter(0)  ROOT r = f32[2] call(p), to_apply=c2999 }")  # fmt: skip
    assert hm.cost(module).flops == 2


def test_subjects() -> None:
    assert hm.cost(SOFTMAX.computation("f")).to_dict()["flops"] == hm.cost(SOFTMAX.entry).flops == 248
    assert [part.name for part in hm.cost(SOFTMAX.computation("f")).parts] == ["d", "r", "e"]
    with pytest.raises(TypeError, match=r"hm\.cost: expected an Instruction"):
        hm.cost("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="as `device`"):
        hm.cost(SOFTMAX, 100)  # type: ignore[arg-type]
    assert math.isclose(hm.cost(SOFTMAX, "h100").time_at_least or 0, 1024 / 3350e9)


def test_operands_without_names_are_not_counted() -> None:
    module = hm.parse("ENTRY e { p = f32[4] parameter(0)  ROOT r = f32[4] sort(f32[4]), dimensions={0} }")
    assert not hm.cost(module).exact
    module = _module("ENTRY e { p = f32[4,5] parameter(0)  ROOT r = f32[4] sine(p) }")
    assert "not counted: r: " in hm.cost(module).notes[0]


def test_numbers_beyond_a_float() -> None:
    """Each computation calls the one before twice."""
    calls = "".join(
        f"c{i} {{ p = f32[2] parameter(0)  q = f32[2] call(p), to_apply=c{i - 1}  "
        f"ROOT r = f32[2] call(q), to_apply=c{i - 1} }}\n"
        for i in range(1, 2000)
    )
    module = _module(f"c0 {{ p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }}\n{calls}"
                     "ENTRY e { p = f32[2] parameter(0)  ROOT r = f32[2] call(p), to_apply=c1999 }")  # fmt: skip
    found = hm.cost(module, "h100")
    assert found.flops == 2 * 2**1999 and found.time_at_least == math.inf
    assert "inf" in str(found)


def test_a_column_has_64_bits() -> None:
    size = 2**31 - 1
    module = _module(f"""ENTRY e {{ a = f32[{size},{size}] parameter(0)  b = f32[{size},{size}] parameter(1)
      ROOT d = f32[{size},{size}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}""")
    assert hm.cost(module).flops == 2 * size**3
    assert hm.analyze(module)["flops"][-2:] == [None, None]
