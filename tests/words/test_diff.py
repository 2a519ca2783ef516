"""Diffs of modules: goldens of real compilations, what outputs depend on, and value numbers checked by running.

``HLOMAP_BLESS=1 pytest tests/words`` rewrites the goldens; read the diff.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import BLESS, CASES, Case, random_value
from support.corpus import read_corpus

import hlomap as hm
from hlomap.analysis.value_numbers import Numbering
from hlomap.words.diff import _by_numbers
from hlomap.words.outputs import compare_outputs, compare_values

PAIRS = ["attention_causal", "remat_grad", "while_simple"]

MODULES = """
    adam_train_step attention_causal attention_grad cholesky conv_grouped_grads cumulative_ops dynamic_update_slice
    floyd_warshall gather_take_along layernorm_grad lenet_train_grad lstm_scan mlp_value_and_grad moe_topk
    optimization_barrier resnet_block_fwd rope scan_grad scatter_batching_dims transformer_block_fwd unet_small
    while_simple
""".split()  # noqa: SIM905 (a list would be 25 lines)


def module(body: str, computations: str = "") -> hm.Module:
    return hm.parse(f"HloModule m\n{computations}\nENTRY e {{\n{body}\n}}")


@pytest.mark.parametrize("name", PAIRS)
def test_golden(name: str) -> None:
    """XLA's CPU pipeline on three programs; each golden was compared with the texts by hand."""
    before, after = (hm.parse(read_corpus(folder)[f"{name}.hlo"]) for folder in ("pre", "opt"))
    found = hm.diff(before, after)
    golden = CASES / "diff" / f"{name}.txt"
    if BLESS:
        golden.write_text(f"{found}\n")
    assert f"{found}\n" == golden.read_text()
    assert json.loads(json.dumps(found.to_dict())) and "<script" not in found._repr_html_()


def test_dependence_before_and_after_optimisation() -> None:
    """Every output of real modules: proved equal, or why not."""
    lines = []
    for name in MODULES:
        found = hm.diff(*(hm.parse(read_corpus(folder)[f"{name}.hlo"]) for folder in ("pre", "opt")))
        lines.append(f"{name}: {sum(output.status == 'same' for output in found.outputs)} the same")
        lines += [f"  {output}" for output in found.outputs if output.status != "same"]
    golden = CASES / "diff" / "outputs.txt"
    text = "".join(f"{line}\n" for line in lines)
    if BLESS:
        golden.write_text(text)
    assert text == golden.read_text()


def test_same_module_has_no_changes() -> None:
    for name in PAIRS:
        text = read_corpus("opt")[f"{name}.hlo"]
        found = hm.diff(hm.parse(text), hm.parse(text))
        assert found.is_empty and {match.how for match in found.matches} == {"value"}
        assert all(match.before.name == match.after.name for match in found.matches)
        assert found.bytes_before == found.bytes_after


@pytest.mark.parametrize("name", MODULES)
def test_equal_modules_are_compared_as_others_are(name: str) -> None:
    """What is found by place agrees with what the numbers of values tell, and a pickle has it as well."""
    text = read_corpus("opt")[f"{name}.hlo"]
    old, new = hm.parse(text), hm.parse(text)
    found, expected = hm.diff(old, new), _by_numbers(old, new, None)
    assert (found.matches, found.unchanged_fusions) == (expected.matches, expected.unchanged_fusions)
    assert found.to_dict() == expected.to_dict() and str(found) == str(expected)
    assert str(pickle.loads(pickle.dumps(hm.diff(old, new)))) == str(expected)


def test_equal_modules_are_not_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other names and another spelling leave modules equal; random numbers are matched, and not proved to be equal."""
    turn = "{0} = f32[6,4] parameter(0)\n {1} = f32[4,6] transpose({0}), dimensions={{1,0}}\n"
    turn += " ROOT r = f32[4,6] negate({1})"
    draw = "p = f32[] parameter(0)\n ROOT {0} = f32[5] rng(p, p), distribution=rng_uniform"
    text = turn.format(*"pt")
    drawn = hm.diff(module(draw.format("r")), module(draw.format("r")))
    assert drawn.is_empty and [match.how for match in drawn.matches] == ["value", "use"]
    renamed = hm.diff(module(draw.format("r")), module(draw.format("s")))
    assert [(m.before.name, m.after.name, m.how) for m in renamed.matches] == [("p", "p", "value"), ("r", "s", "use")]

    def number(*_: object) -> None:
        raise AssertionError("values are numbered")

    monkeypatch.setattr(Numbering, "values", number)
    for after in (text, turn.format(*"xy"), text.replace("{1,0}", "{1, 0}")):
        found = hm.diff(module(text), module(after))
        assert found.is_empty and str(found).endswith("3 by value")
        places = [(match.before.number, match.after.number, match.how) for match in found.matches]
        assert places == [(0, 0, "value"), (1, 1, "value"), (2, 2, "value")]


def test_one_changed_operation_among_many_layers() -> None:
    """What an operation computes is asked once for all layers, and the rest of the work is compiled."""

    def layers(n: int, changed: int) -> str:
        names = ["sine" if i == changed else "tanh" for i in range(n)]
        each = "".join(
            f"h{i} = f32[4,6] {name}(x{i})\nt{i} = f32[6,4] transpose(h{i}), dimensions={{1,0}}\n"
            f"u{i} = f32[4,6] transpose(t{i}), dimensions={{1,0}}\nx{i + 1} = f32[4,6] add(u{i}, x{i})\n"
            for i, name in enumerate(names)
        )
        return f"x0 = f32[4,6] parameter(0)\n{each}ROOT r = f32[4,6] negate(x{n})"

    def calls(n: int) -> int:
        count = 0

        def note(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in {"call", "c_call"}

        before, after = module(layers(n, -1)), module(layers(n, n // 2))
        sys.setprofile(note)
        try:
            found = hm.diff(before, after)
        finally:
            sys.setprofile(None)
        assert [i.name for i in found.removed] == [i.name for i in found.added] == [f"h{n // 2}"]
        assert not found.changed and not found.is_empty
        hows = {match.before.name: match.how for match in found.matches}
        assert len(hows) == 4 * n + 1 and hows[f"u{n // 2 - 1}"] == "value" and hows[f"u{n // 2}"] == "use"
        return count

    calls(3)  # imports what is imported at first use
    assert calls(60) <= calls(20) + 20


def test_history_of_what_is_counted_nowhere_else(tmp_path: Path) -> None:
    """An inlined call leaves all values as they are."""
    call = "f {{\n a = f32[4,6] parameter(0)\n ROOT n = f32[4,6] negate(a)\n}}\nENTRY e {{\n{}\n}}"
    texts = (
        call.format(P + "ROOT c = f32[4,6] call(p), to_apply=f"),
        "ENTRY e {\n" + P + "ROOT n = f32[4,6] negate(p)\n}",
    )
    for number, text in enumerate(texts):
        name = f"module_0001.f.000{number}.a.after_p{number}.before_p{number + 1}.txt"
        (tmp_path / name).write_text(f"HloModule f\n{text}\n")
    line = str(hm.DumpDirectory(tmp_path).history("f")).splitlines()[1]
    assert line == "  p1: -1 parameter, -1 call; outputs depend on the same elements"


P = "p = f32[4,6] parameter(0)\n"


def test_values_without_a_number_differ() -> None:
    """Equal numbers of instructions in two modules do not prove anything."""
    body = (
        "q = f32[9] parameter(0)\no = s32[] parameter(1)\nROOT r = f32[3] dynamic-slice(q, o), dynamic_slice_sizes={3}"
    )
    one = module(body)
    numbered = Numbering().values(one)
    assert {
        o.status for o in compare_outputs(one, module(body), numbered.number_of, lambda _: None)[0] if o.parameter == 0
    } == {"unknown"}


def test_programs_with_very_many_outputs_are_compared_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlomap.words.outputs._MAX_PAIRS", 1)
    one = module(
        P + "n = f32[4,6] negate(p)\na = f32[4,6] abs(p)\nROOT t = (f32[4,6], f32[4,6], f32[4,6]) tuple(n, a, p)"
    )
    found = hm.diff(one, one)
    assert len(found.outputs) == 2 and "1 further output not compared" in str(found)


def test_numbers_of_values_are_those_of_equal_arrays(case: Case) -> None:
    """Runs the case: instructions of the entry with one number have one value."""
    if any(note.startswith("// devices") for note in case.notes):
        return
    program = case.module
    values: dict[hm.Instruction, Any] = {}
    numbers = Numbering().values(program)
    rng = np.random.default_rng(7)
    arguments = [random_value(parameter.shape, rng) for parameter in program.entry.parameters]
    try:
        hm.execute(program, *arguments, on_value=lambda i, value, device=None: values.setdefault(i, value))
    except hm.HlomapError:
        return
    found: dict[int, Any] = {}
    for instruction, value in values.items():
        number = numbers.number_of(instruction)
        if instruction.computation == program.entry and number is not None and instruction.shape.is_array:
            other = found.setdefault(number, value)
            np.testing.assert_array_equal(np.asarray(value), np.asarray(other))


def test_calls_of_calls_do_not_multiply() -> None:
    """Each of 40 computations calls the next one twice."""
    computations = "f0 {\n ROOT p = f32[2] parameter(0)\n}\n"
    for i in range(40):
        computations += (
            f"f{i + 1} {{\n p = f32[2] parameter(0)\n a = f32[2] call(p), to_apply=f{i}\n n = f32[2] negate(a)\n"
            f" b = f32[2] call(n), to_apply=f{i}\n ROOT s = f32[2] add(a, b)\n}}\n"
        )
    program = module("p = f32[2] parameter(0)\nROOT r = f32[2] call(p), to_apply=f40", computations)
    assert len(Numbering().values(program)) > 40
    deep = "".join(
        f"g{i + 1} {{\n p = f32[2] parameter(0)\n ROOT a = f32[2] call(p), to_apply=g{i}\n}}\n" for i in range(2000)
    )
    program = module(
        "p = f32[2] parameter(0)\nROOT r = f32[2] call(p), to_apply=g2000",
        "g0 {\n ROOT p = f32[2] parameter(0)\n}\n" + deep,
    )
    assert len(Numbering().values(program)) > 0


def test_history_of_a_dump() -> None:
    dump = hm.DumpDirectory(CASES / "dumps")
    found = dump.history("jit_attn")
    golden = CASES / "diff" / "history.txt"
    if BLESS:
        golden.write_text(f"{found}\n")
    assert f"{found}\n" == golden.read_text()
    assert dump.history(dump[0]).to_dict() == found.to_dict()
    assert all(output.status == "same" for change in found.changes for output in change.diff.outputs)
    with pytest.raises(hm.errors.NotFoundError, match=r"no module 'x' in .*; expected one of jit_attn, jit_step"):
        dump.history("x")


FOLDS = {
    "before": """i = s32[9] dynamic-slice(x, a), dynamic_slice_sizes={9}
      ROOT o = s32[4] dynamic-slice(i, b), dynamic_slice_sizes={4}""",
    "wrong": """h = s32[] constant(14)  c = s32[] clamp(z, a, h)  s = s32[] add(c, b)
      ROOT o = s32[4] dynamic-slice(x, s), dynamic_slice_sizes={4}""",
    "good": """h = s32[] constant(9)  k = s32[] constant(5)  c = s32[] clamp(z, a, h)  e = s32[] clamp(z, b, k)
      s = s32[] add(c, e)  ROOT o = s32[4] dynamic-slice(x, s), dynamic_slice_sizes={4}""",
    "device": """q = s32[18] all-reduce(x), replica_groups={{0,1}}, to_apply=add
      ROOT o = s32[4] dynamic-slice(q, a), dynamic_slice_sizes={4}""",
}


def fold(name: str) -> hm.Module:
    return hm.parse(f"""HloModule m
    add {{ a = s32[] parameter(0)  b = s32[] parameter(1)  ROOT c = s32[] add(a, b) }}
    ENTRY e {{
      x = s32[18] parameter(0)  a = s32[] parameter(1)  b = s32[] parameter(2)  z = s32[] constant(0)
      {FOLDS[name]}
    }}""")


def test_runs_tell_a_wrong_fold_from_a_right_one() -> None:
    before, wrong, good = map(fold, ("before", "wrong", "good"))
    (found,) = hm.diff(before, wrong).values
    assert found.status == "different" and found.element is not None
    # The arguments are a witness.
    values = [hm.execute(module, *found.arguments)[found.element] for module in (before, wrong)]
    assert values == [found.before, found.after] and values[0] != values[1]
    assert str(found).startswith(
        f"values of output: different for a = {found.arguments[1]}, b = {found.arguments[2]}: "
    )
    assert "  " + str(found) in str(hm.diff(before, wrong)).splitlines()
    assert "  values of output: equal in 8 runs" in str(hm.diff(before, good)).splitlines()
    json.dumps(hm.diff(before, wrong).to_dict())


def test_equal_values_are_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has one number on both sides is the same, even where its maps are not exact."""
    monkeypatch.setattr("hlomap.words.diff.compare_values", lambda *_: pytest.fail("runs"))
    body = "p = f32[2,2] parameter(0)\nk = f32[2,2] cholesky(p)\nt = f32[2,2] transpose(k), dimensions={1,0}\n"
    ends = "ROOT r = (f32[2,2], (f32[2,2], f32[2,2])) tuple(k, u)"
    first = module(body + "u = (f32[2,2], f32[2,2]) tuple(p, t)\n" + ends)
    other = module(
        "q = f32[2,2] parameter(0)\n"
        + body.split("\n", 1)[1].replace("p)", "q)")
        + "i = f32[2,2] transpose(t), dimensions={1,0}\nj = f32[2,2] transpose(i), dimensions={1,0}\n"
        + "u = (f32[2,2], f32[2,2]) tuple(q, j)\n"
        + ends
    )
    for after in (first, other):
        found = hm.diff(first, after)
        assert [(o.output, o.status) for o in found.outputs] == [((0,), "same"), ((1, 0), "same"), ((1, 1), "same")]


ONE = "ENTRY e {{\n p = f32[4] parameter(0){}\n ROOT r = f32[4] {}\n}}"
PROGRAMS = {
    "donation": ("HloModule m, input_output_alias={ {}: (0, {}, must-alias) }\n", ("", "negate(p)")),
    "donor": ("HloModule m, buffer_donor={ (0, {}) }\n", ("", "negate(p)")),
    "partitions": ("HloModule m, num_partitions=2\n", ("", "negate(p)")),
    "replicas": ("HloModule m, replica_count=2\n", ("", "negate(p)")),
    "sharding of a parameter": ("HloModule m\n", (", sharding={devices=[2]0,1}", "negate(p)")),
    "sharding of the result": ("HloModule m\n", ("", "negate(p), sharding={devices=[2]0,1}")),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_program_is_beside_its_values(name: str) -> None:
    """Each of them, lost or added, is a difference; the same on both sides is none."""
    head, (on_parameter, root) = PROGRAMS[name]
    there = hm.parse(head + ONE.format(on_parameter, root))
    again = hm.parse(head + ONE.format(on_parameter, root))
    plain = hm.parse("HloModule m\n" + ONE.format("", "negate(p)"))
    assert hm.diff(there, again).is_empty and not hm.diff(there, again).attributes
    for before, after in ((there, plain), (plain, there)):
        found = hm.diff(before, after)
        (change,) = found.attributes
        assert not found.is_empty and found.reason is None and found.has_same_values
        assert (change.before is None) == (before is plain) and str(change) in str(found)
        assert json.loads(json.dumps(found.to_dict()))["attributes"][0]["name"] == change.name


def test_aliases_of_calls_are_compared() -> None:
    text = 'custom-call(p), custom_call_target="t"{}'
    alias = ", output_to_operand_aliasing={{}: (0, {})}"
    a, b = (hm.parse(ONE.format("", text.format(more))) for more in ("", alias))
    assert [change.name for change in hm.diff(a, b).attributes] == ["output_to_operand_aliasing"]


def test_the_configuration_of_a_call_is_what_it_computes() -> None:
    """That of other operations is how they compute it."""
    call, add = 'custom-call(p), custom_call_target="t", backend_config="{}"', 'add(p, p), backend_config="{}"'
    for text, same in ((call, False), (add, True)):
        a, b = (hm.parse(ONE.format("", text.format(config))) for config in ("1", "2"))
        assert hm.diff(a, b).is_empty is same


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("c = f32[100] constant({...})", "before: the text leaves out the value of c"),
        ("c = f7[4] copy(p)", "before: the text of c cannot be read"),
        ("c = f32[4] copy(nowhere)", "before: the text of c cannot be read"),
    ],
)
def test_what_the_text_does_not_tell_is_unknown(line: str, reason: str) -> None:
    text = f"ENTRY e {{\n p = f32[4] parameter(0)\n {line}\n ROOT r = f32[4] negate(p)\n}}"
    a, b = hm.parse(text), hm.parse(text)
    found = hm.diff(a, b)
    assert (
        not found.is_empty
        and found.reason == reason
        and f"not known:\n  whether the modules are equal: {reason}" in str(found)
    )
    assert hm.diff(a, a).is_empty, "a module is itself"


CALLS = ("condition=condition, body=body", "body=body, condition=condition")


def test_sorts_are_run() -> None:
    """A comparator runs for each comparison; what takes too long has a reason without advice that diff cannot take."""
    compare = "less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }\n"
    sort = "p = f32[5,6] parameter(0)\n i = s32[] parameter(1)\n s = f32[5,6] sort(p), dimensions={1}, to_apply=less\n"
    last = " z = s32[] constant(0)\n ROOT d = f32[2,6] dynamic-slice(s, i, z), dynamic_slice_sizes={2,6}"
    other = last.replace("(s, i, z)", "(s, k, z)").replace(" ROOT", " k = s32[] add(i, z)\n ROOT")
    a, b = (module(sort + end, compare) for end in (last, other))
    (values,) = hm.diff(a, b).values or compare_values(a, b, [()]).outputs
    assert values.status == "equal" and values.n_runs == 8
    loop = """body { i = s32[] parameter(0)  one = s32[] constant(1)  ROOT n = s32[] add(i, one) }
    condition { i = s32[] parameter(0)  n = s32[] constant(9999)  ROOT less = pred[] compare(i, n), direction=LT }
    """
    a, b = (module(f"p = s32[] parameter(0)\n ROOT w = s32[] while(p), {calls}", loop) for calls in CALLS)
    (values,) = compare_values(a, b, [()]).outputs
    assert values.status == "not run" and "loops exceed" in str(values.reason) and "pass" not in str(values.reason)


def test_what_is_not_run_has_a_reason() -> None:
    found = hm.diff(fold("before"), fold("device"))
    assert [values.status for values in found.values] == ["not run"]
    assert "values not compared: q (all-reduce in e): replica 1 is in its groups" in str(found)


def test_rounding_in_another_order_is_not_a_difference() -> None:
    def sums(order: str) -> hm.Module:
        return hm.parse(f"""ENTRY e {{
          x = f32[9] parameter(0)  i = s32[] parameter(1)
          a = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={{3}}  b = f32[3] slice(x), slice={{[1:4]}}
          c = f32[3] slice(x), slice={{[5:8]}}  {order}
        }}""")

    first = sums("d = f32[3] add(a, b)  ROOT s = f32[3] add(d, c)")
    other = sums(
        "k = s32[] add(i, i)  j = s32[] subtract(k, i)  h = f32[3] dynamic-slice(x, j), dynamic_slice_sizes={3}  "
        "d = f32[3] add(b, c)  ROOT s = f32[3] add(h, d)"
    )
    (found,) = hm.diff(first, other).values
    assert (found.status, found.n_runs) == ("equal", 8)
