"""``hm.verify``: op cases and small corpus modules are sound, and wrong maps are detected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import Case
from support.corpus import read_corpus

import hlomap as hm
from hlomap.cli.main import main
from hlomap.errors import UndecidedError
from hlomap.verification.verify import CheckStatus

SMALL = 1400  # bytes


def unsound(results: list[hm.results.CheckResult]) -> list[str]:
    return [str(result) for result in results if result.status == "unsound"]


def test_op_cases_are_sound(case: Case) -> None:
    assert unsound(hm.verify(case.module, max_changes=5)) == []


def test_small_modules_of_the_corpus_are_sound() -> None:
    small = {name: data for name, data in read_corpus("pre").items() if name.endswith(".hlo") and len(data) < SMALL}
    for name, data in small.items():
        assert unsound(hm.verify(hm.parse(data), max_changes=4)) == [], name
    assert len(small) > 30


def test_elements_of_dynamic_arrays_are_numbered_at_their_bounds() -> None:
    root = hm.parse("""ENTRY e {
      p = f32[2,3] parameter(0)
      n = s32[] parameter(1)
      ROOT r = f32[2,<=3] set-dimension-size(p, n), dimensions={1}
    }""").entry.root
    assert [unsound(hm.verify(root, seed=seed)) for seed in range(8)] == [[]] * 8


def test_an_instruction_with_a_wrong_shape_is_not_checked() -> None:
    root = hm.parse("""ENTRY e {
      p = f32[2,3] parameter(0)
      ROOT r = (f32[2,3], f32[4]) collective-permute(p), source_target_pairs={{0,0}}
    }""").entry.root
    assert {v.status for v in hm.verify(root)} <= {"unknown", "unchecked"}


def test_the_state_of_an_asynchronous_copy_has_no_value() -> None:
    root = hm.parse("ENTRY e { p = f32[3] parameter(0) ROOT s = (f32[3], f32[3], u32[]) copy-start(p) }").entry.root
    assert [v.status for v in hm.verify(root)] == ["exact"] * 6


def test_a_sample_of_a_large_operand_is_changed() -> None:
    root = hm.parse("""ENTRY e {
      big = f32[30522,16] parameter(0)
      ROOT s = f32[1,16] slice(big), slice={[30521:30522], [0:16]}
    }""").entry.root
    results = hm.verify(root)
    assert [(r.status, r.n_changes) for r in results] == [("exact", 32)] * 2


def test_a_wrong_map_of_a_large_operand_is_found() -> None:
    root = hm.parse("ENTRY e { p = f32[30522,16] parameter(0) ROOT r = f32[30522,16] reverse(p), dimensions={1} }")["r"]
    hm.register_rule("reverse", lambda r, index: [hm.IndexingMap.identity(r.shape.dimensions)])
    try:
        assert hm.verify(root)[0].status == "unsound"
    finally:
        hm.unregister_rule("reverse")


def test_what_is_too_large_has_its_size_and_the_limit_as_reason() -> None:
    def reasons(line: str) -> set[str | None]:
        pairs = " ".join(f"a{k} = f32[] parameter({k})" for k in range(10))
        less = f"less {{ {pairs} ROOT r = pred[] compare(a0, a1), direction=LT }}"
        text = f"{less} ENTRY e {{ p = f32[2048,2049] parameter(0) q = f32[2048,2048] parameter(1) ROOT r = {line} }}"
        return {result.reason for result in hm.verify(hm.parse(text).entry.root)}

    assert reasons("f32[1,1] slice(p), slice={[0:1],[0:1]}") == {
        "p is too large to run: 4,196,352 elements, at most 4,194,304 are run"
    }
    assert reasons("f32[10240,2048] concatenate(q, q, q, q, q), dimensions={0}") == {
        "r is too large to run: 20,971,520 elements, at most 4,194,304 are run"
    }
    assert reasons(
        "(f32[2048,2048], f32[2048,2048], f32[2048,2048], f32[2048,2048], f32[2048,2048]) "
        "sort(q, q, q, q, q), dimensions={0}, to_apply=less"
    ) == {"the operands are too large to run: 20,971,520 elements together, at most 16,777,216 are run"}


def test_dynamic_reshape_depends_on_sizes_in_use() -> None:
    module = hm.parse("""ENTRY e {
      p = f32[6] parameter(0)
      four = s32[] constant(4)
      two = s32[] constant(2)
      d = f32[<=6] set-dimension-size(p, four), dimensions={0}
      ROOT r = f32[<=2,<=3] dynamic-reshape(d, two, two)
    }""")
    assert unsound(hm.verify(module)) == []
    assert [len(hm.output_to_input(module["r"])[0][0].ranges), len(hm.input_to_output(module["r"])[0][0].ranges)] == [
        1,
        2,
    ]


SHIFT = """HloModule m
ENTRY e {
  p = f32[2,3] parameter(0)
  ROOT r = f32[2,3] reverse(p), dimensions={1}
}
"""


def identity(instruction: hm.Instruction, leaf: tuple[int, ...]) -> list[hm.IndexingMap]:
    return [hm.IndexingMap.identity(list(instruction.shape.dimensions))]


def test_a_wrong_map_is_unsound_with_the_smallest_witness() -> None:
    root = hm.parse(SHIFT).entry.root
    hm.register_rule("reverse", identity)
    try:
        found = hm.verify(root)
    finally:
        hm.unregister_rule("reverse")
    assert [(v.status, v.witness) for v in found] == [("unsound", ((0, 0), (0, 2)))] * 2
    assert [v.status for v in hm.verify(root)] == ["exact"] * 2


def test_an_over_approximate_map_is_overapproximate() -> None:
    root = hm.parse(SHIFT).entry.root
    everything = "(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 1], d1 in [0, 2], s0 in [0, 2]"
    hm.register_rule("reverse", lambda instruction, leaf: [hm.IndexingMap.parse(everything)])
    try:
        assert [v.status for v in hm.verify(root)] == ["overapproximate"] * 2
    finally:
        hm.unregister_rule("reverse")


def test_status_is_a_string_and_truth_is_never_undecided() -> None:
    exact = hm.verify(hm.parse(SHIFT).entry.root)[0]
    assert exact and exact.status == "exact" and str(exact.status) == f"{exact.status}" == "exact"
    assert json.loads(json.dumps({"status": exact.status})) == {"status": "exact"}
    assert replace(exact, status=CheckStatus.OVERAPPROXIMATE)
    assert not replace(exact, status=CheckStatus.UNSOUND)
    for status in (CheckStatus.UNKNOWN, CheckStatus.UNCHECKED):
        with pytest.raises(UndecidedError, match=f"CheckResult that is {status} is not decided"):
            bool(replace(exact, status=status))


def test_a_map_that_leaves_the_array_is_unknown() -> None:
    root = hm.parse(SHIFT).entry.root
    beyond = "(d0, d1) -> (d0, d1 + 1), domain: d0 in [0, 1], d1 in [0, 2]"
    hm.register_rule("reverse", lambda instruction, leaf: [hm.IndexingMap.parse(beyond)])
    try:
        assert [v.status for v in hm.verify(root)] == ["unknown"] * 2
        assert "image leaves the array" in str(hm.output_to_input(root)[0].reason)
    finally:
        hm.unregister_rule("reverse")


def test_verify_command(tmp_path: Path) -> None:
    file = tmp_path / "m.hlo"
    file.write_text(SHIFT)
    result = CliRunner().invoke(main, ["verify", str(file), "--all"])
    assert result.exit_code == 0 and result.stdout.splitlines() == [
        "m: r: output {} and operand 0 {}, output_to_input: exact",
        "m: r: output {} and operand 0 {}, input_to_output: exact",
        "exact 2",
    ]
    hm.register_rule("reverse", identity)
    try:
        result = CliRunner().invoke(main, ["verify", str(file)])
    finally:
        hm.unregister_rule("reverse")
    assert result.exit_code == 1 and "operand element [0, 0] changes output [0, 2]" in result.stdout


def test_custom_rules() -> None:
    text = """ENTRY e {
      p = (f32[2], f32[3]) parameter(0)
      ROOT c = (f32[3], f32[2]) custom-call(p), custom_call_target="swap"
    }"""
    root = hm.parse(text).entry.root

    def swapped(call: hm.Instruction, leaf: tuple[int, ...]) -> list[dict[tuple[int, ...], hm.IndexingMap]]:
        return [{(1 - leaf[0],): hm.IndexingMap.identity(list(call.shape.at(leaf).dimensions))}]

    assert hm.output_to_input(root, 0)[0].is_unknown
    hm.register_rule("swap", swapped)
    try:
        assert [m.shape_index for m in hm.output_to_input(root, 0)[0]] == [(1,)]
        there, back = hm.input_to_output(root, (0, 0))
        assert not there and [m.shape_index for m in back] == [(1,)]
        hm.register_rule("swap", lambda call, leaf: [hm.MapSet.unknown("it depends")])
        assert hm.output_to_input(root, 0)[0].reason == "it depends"
        assert hm.input_to_output(root, (0, 0))[0].reason == "it depends"
        hm.register_rule("swap", lambda call, leaf: 1 / 0)
        assert "ZeroDivisionError" in str(hm.output_to_input(root, 0)[0].reason)
    finally:
        hm.unregister_rule("swap")


def test_more_dimensions_than_numpy_has() -> None:
    sizes = ",".join(["1"] * 65)
    module = hm.parse(
        f"ENTRY e {{ p = f32[] parameter(0) b = f32[{sizes}] broadcast(p), dimensions={{}} "
        f"c = f32[{sizes}] constant({'{' * 65}1{'}' * 65}) d = f32[{sizes}] add(b, c) ROOT r = f32[] reshape(d) }}"
    )
    with pytest.raises(hm.errors.UnsupportedError, match="b: an array of 65 dimensions: NumPy has up to"):
        hm.execute(module, np.float32(1))
    with pytest.raises(hm.errors.UnsupportedError, match="not of 65"):
        _ = module.entry.instructions[2].literal
    assert {result.status for result in hm.verify(module)} == {CheckStatus.UNCHECKED}
    assert hm.diff(module, module).is_empty


def test_a_called_loop_begins_to_count_where_its_map_says() -> None:
    """The CPU compiler puts small loops into calls, and copies the number with which they begin."""
    text = """HloModule m
body {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3] get-tuple-element(s), index=1
  one = s32[] constant(1)
  zero = f32[1] constant({0})
  ROOT t = (s32[], f32[3]) tuple(s32[] add(i, one), f32[3] dynamic-update-slice(x, zero, i))
}
condition {
  s = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT less = pred[] compare(i, n), direction=LT
}
looped {
  s = (s32[], f32[3]) parameter(0)
  ROOT w = (s32[], f32[3]) while(s), condition=condition, body=body,
    backend_config={"known_induction_variable":{"tuple_index":"0"},
    "known_init_step":{"init":"0","step":"1"},"known_trip_count":{"n":"3"}}
}
ENTRY e {
  p = f32[3] parameter(0)
  first = s32[] constant(0)
  copied = s32[] copy(first)
  t = (s32[], f32[3]) tuple(copied, p)
  ROOT c = (s32[], f32[3]) call(t), to_apply=looped
}"""
    call = hm.parse(text)["c"]
    assert unsound(hm.verify(call)) == []
