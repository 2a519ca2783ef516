"""Operations and bytes: equal to XLA's on plain programs, and to a count by hand where XLA's differ.

``tests/cases/cost/equal.hlo`` and ``differs.hlo`` have programs as XLA compiles them, and single operations, each with
the figures of XLA's cost analysis; ``differs.hlo`` also has hlomap's and says why it is right.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import hlomap as hm
from hlomap.memory.cost import _Run
from hlomap.memory.figures import Figures
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
    assert found.distinct_bytes is not None and found.bytes_written is not None
    return _figures(found.flops, found.transcendentals, found.distinct_bytes + found.bytes_written)


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
    assert [o for o in registered() if lookup(o).semantics.operations is None and lookup(o).calls.runs is None] == []


@pytest.mark.parametrize(("title", "module", "comments", "text"), [*EQUAL, *DIFFERS])
def test_columns_have_the_figures_of_each_instruction(title: str, module: str, comments: list[str], text: str) -> None:
    table = hm.analyze(parsed := hm.parse(text))
    names = ("computation", "instruction", "flops", "transcendentals", "recomputed")
    for computation, name, *figures in zip(*map(table.__getitem__, names), strict=True):
        instruction = parsed.computation(computation)[name]
        found = hm.cost(instruction)
        runs_others = lookup(instruction.opcode).calls.runs is not None and instruction.opcode != "fusion"
        expected = [found.flops, found.transcendentals, found.recomputed]
        assert figures == ([None] * 3 if runs_others or found.notes else expected), name


def _module(text: str) -> hm.Module:
    return hm.parse(
        f"HloModule m\nadd {{ a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }}\n{text}"
    )


def test_computations_that_call_each_other_end() -> None:
    deep = "".join(
        f"c{i} {{ p = f32[2] parameter(0)  ROOT r = f32[2] call(p), to_apply=c{i - 1} }}\n" for i in range(1, 3000)
    )
    module = _module(f"c0 {{ p = f32[2] parameter(0)  ROOT n = f32[2] negate(p) }}\n{deep}"
                     "ENTRY e { p = f32[2] parameter(0)  ROOT r = f32[2] call(p), to_apply=c2999 }")  # fmt: skip
    assert hm.cost(module).flops == 2


def test_text_without_operands_leaves_what_moves_known() -> None:
    module = hm.parse("""HloModule m
f { p = f32[4,5] parameter(0)  ROOT r = f32[5,4] transpose(), dimensions={1,0} }
ENTRY e { x = f32[4,5] parameter(0)  s = f32[5,4] fusion(), kind=kLoop, calls=f  ROOT t = f32[5,4] sine() }""")
    table = hm.analyze(module)
    assert (table["instruction"], table["flops"], table["recomputed"]) == (["s", "t"], [0, None], [1.0, None])


def test_equal_signatures_with_other_group_sizes() -> None:
    """Of the first product only 5 rows belong to a group, of the second all 8: no more than those of 8 are needed."""
    dims = "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}"
    module = _module(f"""ENTRY e {{ a = f32[8,4] parameter(0)  b = f32[2,4,5] parameter(1)
      g = s32[2] constant({{3, 2}})  h = s32[2] constant({{8, 0}})
      r = f32[8,5] ragged-dot(a, b, g), {dims}
      s = f32[8,5] ragged-dot(a, b, h), {dims}
      ROOT t = (f32[8,5], f32[8,5]) tuple(r, s) }}""")
    parts = {part.name: part for part in hm.cost(module).parts}
    assert (parts["s"].flops, parts["r"].flops) == (2 * 8 * 4 * 5, 2 * 8 * 4 * 5)
    assert not parts["r"].exact


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


NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("target", "config", "note"),
    [
        (
            "__cublas$gemm",
            f'{{"gemm_backend_config":{NESTED}}}',
            "its backend_config is neither a JSON object nor a list of attributes",
        ),
        ("mosaic_gpu", f'{{cost_estimate_json = "{NESTED}"}}', "its cost_estimate_json is not JSON"),
        ("mosaic_gpu", "{cost_estimate_json = 3}", "its cost_estimate_json is not JSON"),
        ("tpu_custom_call", '{"custom_call_config":3}', "backend_config.custom_call_config is not an object"),
        (
            "tpu_custom_call",
            '{"custom_call_config":{"cost_estimate":{"flops":3.5}}}',
            "cost_estimate.flops is 3.5",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_configurations_that_cannot_be_read(target: str, config: str, note: str) -> None:
    module = hm.parse(f"""ENTRY e {{ x = f32[4,4] parameter(0)
      ROOT k = f32[4,4] custom-call(x, x), custom_call_target="{target}", backend_config={config} }}""")
    assert hm.cost(module).notes == (f"not counted: custom-call to {target!r}: {note}",)
    assert isinstance(hm.gemm(module["k"]), hm.Unknown)


def test_a_long_kernel() -> None:
    """The code of a kernel is one long word, which is looked at once."""
    code = "TUzvUg" * 300_000
    for config in (f'{{code = "{code}", n = 3 : i32}}', f'{{"code": "{code}"}}', f'"{code}"'):
        module = hm.parse(f"""ENTRY e {{ x = f32[4] parameter(0)
          ROOT k = f32[4] custom-call(x), custom_call_target="mosaic_gpu_v2", backend_config={config} }}""")
        assert hm.cost(module).notes == ("not counted: custom-call to 'mosaic_gpu_v2' has no known operations",)


def test_two_calls_of_one_computation_are_two_runs() -> None:
    module = _module("""f { p = f32[5] parameter(0)  ROOT n = f32[5] negate(p) }
      ENTRY e { p = f32[5] parameter(0)  q = f32[5] call(p), to_apply=f  ROOT r = f32[5] call(q), to_apply=f }""")
    report = hm.cost(module)
    assert [(part.name, part.times, part.flops) for part in report.parts] == [("n", 2, 10)] and report.flops == 10


def test_packed_elements_end_in_a_whole_byte() -> None:
    module = _module("ENTRY e { p = s4[3]{0:E(4)} parameter(0)  ROOT n = s4[3]{0:E(4)} negate(p) }")
    report = hm.cost(module)
    assert (report.distinct_bytes, report.bytes_written) == (2, 2)


def test_an_update_that_adds_reads_what_was_there() -> None:
    text = (
        "ENTRY e {{ x = f32[9] parameter(0)  i = s32[{}] parameter(1)  u = f32[2] parameter(2)  ROOT r = f32[9] {} }}"
    )
    added = """scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0},
      index_vector_dim=1, to_apply=add"""
    assert hm.cost(_module(text.format("2,1", added))).distinct_bytes == 4 * (2 + 2 + 2)
    assert hm.cost(_module(text.format("", "dynamic-update-slice(x, u, i)"))).distinct_bytes == 4 * (1 + 2)


def test_equal_instructions_are_measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reports of parts are made when they are read; a pickle has them."""
    measured: list[str] = []
    measure = _Run.measure

    def noted(run: _Run, instruction: hm.Instruction) -> Figures:
        measured.append(instruction.name)
        return measure(run, instruction)

    monkeypatch.setattr(_Run, "measure", noted)
    lines = "\n".join(f"  n{i + 1} = f32[5] {'exponential' if i % 3 else 'negate'}(n{i})" for i in range(60))
    module = hm.parse(f"ENTRY e {{\n  n0 = f32[5] parameter(0)\n{lines}\n  ROOT r = f32[5] add(n60, n60)\n}}")
    found = hm.cost(module)
    assert measured == ["n1", "n2", "r"] and found.flops == 20 * 5 + 5 and found.transcendentals == 40 * 5
    assert callable(vars(found)["parts"])
    assert [part.name for part in pickle.loads(pickle.dumps(found)).parts] == [part.name for part in found.parts]
    assert [(part.name, part.flops, part.distinct_bytes) for part in found.parts[-3:]] == [
        ("n59", 0, 20), ("n60", 0, 20), ("r", 5, 20),
    ]  # fmt: skip
    assert len(measured) == 3
