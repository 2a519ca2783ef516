"""``hm.verify``: small corpus modules are sound, and wrong maps are detected; ``test_oracle.py`` has the op cases."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support import structures
from support.corpus import read_corpus

import hlomap as hm
from hlomap.errors import UndecidedError
from hlomap.verification.verify import CheckStatus

SMALL = 1400  # bytes


def unsound(results: list[hm.results.CheckResult]) -> list[str]:
    return [str(result) for result in results if result.status == "unsound"]


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
        with pytest.raises(UndecidedError, match=f"CheckResult that is {status} has no truth value"):
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


def _fan(n: int) -> hm.Module:
    """A tuple of n arrays."""
    arrays = "".join(f" a{i} = f32[3] negate(p)\n" for i in range(n))
    shape, names = ",".join(["f32[3]"] * n), ",".join(f"a{i}" for i in range(n))
    return hm.parse(f"ENTRY e {{\n p = f32[3] parameter(0)\n{arrays} ROOT r = ({shape}) tuple({names})\n}}")


def _python_calls(call: Callable[[], object]) -> int:
    n = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal n
        n += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return n


def test_work_grows_as_the_arrays_of_a_tuple() -> None:
    """Each array is compared with the one that it becomes, not with all."""
    small, large = _fan(60), _fan(240)
    results = hm.verify(large.entry.root)
    assert {str(result.status) for result in results} == {"exact"} and len(results) == 2 * 240
    few, many = (_python_calls(lambda m=m: hm.verify(m.entry.root, max_changes=1)) for m in (small, large))
    assert many < 1.3 * 4 * few


def test_exact_says_on_how_many_draws_it_stands() -> None:
    module = hm.parse("ENTRY e { p = f32[2,3] parameter(0) q = pred[4] parameter(1) r = f32[2,3] reverse(p), "
                      "dimensions={1} n = pred[4] not(q) ROOT t = (f32[2,3], pred[4]) tuple(r, n) }")  # fmt: skip
    floats, truths = hm.verify(module["r"])[0], hm.verify(module["n"])[0]
    assert (floats.n_changes, floats.n_draws, str(floats).rpartition(": ")[2]) == (6, 12, "exact on 12 draws")
    assert (truths.n_changes, truths.n_draws) == (4, 4)  # there is one other value
    assert hm.verify(module["r"], max_changes=1)[0].n_draws == 2


def test_a_map_that_misses_an_element_is_unsound() -> None:
    """The rule has the first of two elements that are read; the witness is the other one."""
    module = hm.parse("""ENTRY e {
      p = f32[4] parameter(0)
      ROOT r = f32[4] reverse(p), dimensions={0}
    }""")
    with hm.register_rule("reverse", lambda *_: [hm.IndexingMap.parse("(d0) -> (-d0 + 3), domain: d0 in [0, 2]")]):
        found = hm.verify(module)
    assert [(result.status, result.witness) for result in found] == [("unsound", ((0,), (3,)))] * 2


SUMS = hm.parse(
    """add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
    ENTRY e {
      p = f32[7,9] parameter(0)
      z = f32[] constant(0)
      s = f32[7] reduce(p, z), dimensions={1}, to_apply=add
      ROOT t = (f32[7], f32[7,9]) tuple(s, p)
    }"""
)


def test_one_element_of_the_output() -> None:
    """The elements that the maps mention are changed, and the result says on how many draws it stands."""
    result = hm.verify(SUMS["s"], element=(4,), max_changes=9)[0]
    assert (result.status, result.element, result.n_changes) == ("exact", (4,), 9) and result.n_draws >= 9
    assert str(result) == f"s: output {{}}[4] and operand 0 {{}}, output_to_input: exact on {result.n_draws} draws"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SUMS["s"], (7,)), "hm.verify: s is f32[7] and has no element [7]"),
        ((SUMS["s"], ()), "hm.verify: s is f32[7] and has no element []"),
        ((SUMS, (4,)), 'hm.verify: expected an Instruction with `element`, got Module (use module["name"])'),
    ],
)
def test_wrong_elements(arguments: tuple[object, tuple[int, ...]], message: str) -> None:
    with pytest.raises((hm.errors.ShapeError, TypeError)) as raised:
        hm.verify(arguments[0], element=arguments[1])  # type: ignore[arg-type]
    assert str(raised.value) == message


def test_an_element_that_the_maps_miss_is_unsound(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = hm.MapSet([hm.IndexingMap.parse("(d0) -> (d0, 0), domain: d0 in [0, 6]")])
    monkeypatch.setattr("hlomap.verification.verify.operand_maps", lambda *_: {0: missing})
    (result, *_) = hm.verify(SUMS["s"], element=(4,), max_changes=63)
    assert (result.status, result.witness) == ("unsound", ((4, 1), (4,)))
