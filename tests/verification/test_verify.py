"""``hm.verify``: op cases and small corpus modules are sound, and wrong maps are detected."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from conftest import Case
from support import structures
from support.corpus import read_corpus

import hlomap as hm
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


@pytest.mark.parametrize("opcode", structures.GENERATORS)
def test_random_programs_are_sound(opcode: str) -> None:
    make, types = structures.GENERATORS[opcode]
    rng = np.random.default_rng(list(opcode.encode()))
    wide = [name for name in types if name not in ("f16", "bf16", *structures.SMALL)]
    for name in rng.choice(wide, 4):
        program = structures.program(opcode, str(name), make, rng)
        results = hm.verify(hm.parse(program.text).entry.root, max_changes=8)
        assert [str(r) for r in results if r.status in ("unsound", "unknown")] == [], program.text


def test_status_is_a_string_and_truth_is_never_undecided() -> None:
    exact = hm.verify(hm.parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }").entry.root)[0]
    assert exact and exact.status == "exact" and str(exact.status) == f"{exact.status}" == "exact"
    assert json.loads(json.dumps({"status": exact.status})) == {"status": "exact"}
    assert replace(exact, status=CheckStatus.OVERAPPROXIMATE)
    assert not replace(exact, status=CheckStatus.UNSOUND)
    for status in (CheckStatus.UNKNOWN, CheckStatus.UNCHECKED):
        with pytest.raises(UndecidedError, match=f"CheckResult that is {status} is not decided"):
            bool(replace(exact, status=status))


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
