"""Texts that XLA accepts although it does not print them: hlomap reads the same module.

The cases are in ``tests/cases/beyond_printing.txt``, separated by lines of ``=``. Those under
``refused`` XLA refuses; hlomap reads them with a diagnostic or refuses them as well.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.xla import reprint

import hlomap as hm

CASES = Path(__file__).parent.parent / "cases" / "beyond_printing.txt"
ACCEPTED, REFUSED = (
    [c.strip() for c in part.split("\n====\n")] for part in CASES.read_text().split("\n==== refused\n")
)


def test_nesting_has_no_limit() -> None:
    depth = 100_000
    text = (
        "HloModule m\nENTRY e { p = f32[2] parameter(0)\n ROOT r = "
        + "f32[2] negate(" * depth
        + "p"
        + ")" * depth
        + " }"
    )
    module = hm.parse(text)
    assert len(module.entry) == depth + 1 and module["negate.anon"].operands == (module["p"],)
    assert module["negate.anon.7"].operands == (module["negate.anon.6"],)


def test_made_up_names_are_unique() -> None:
    root = "f32[2] add(negate(negate(negate.anon)), negate.anon)"
    text = f"HloModule m\nENTRY e {{ negate.anon = f32[2] parameter(0)\n ROOT r = {root} }}"
    names = [i.name for i in hm.parse(text).entry]
    assert names == ["negate.anon", "negate.anon.1", "negate.anon.2", "r"]


def test_a_number_for_an_array_is_its_first_element() -> None:
    """XLA leaves the others zero."""
    module = hm.parse("HloModule m\nENTRY e { ROOT c = bf16[2,3] constant(5) }")
    assert hm.execute(module).tolist() == [[5, 0, 0], [0, 0, 0]]


def test_an_elided_end_elides_the_constant() -> None:
    """XLA fills such a constant with numbers of its own."""
    for text in ("f32[4] constant({1,2,...})", "f32[2,2] constant({{1,2},...})", "f32[2,2] constant({{1,...}})"):
        (constant,) = hm.parse(f"HloModule m\nENTRY e {{ ROOT c = {text} }}").entry
        with pytest.raises(hm.errors.UnsupportedError, match="leaves the value"):
            _ = constant.literal


@pytest.mark.parametrize(
    ("shape", "typed", "plain"),
    [
        ("f32[2]", "f32[2] {1, 2}", "{1, 2}"),
        ("f32[]", "f32[] 3", "3"),
        ("s32[2,2]{0,1}", "s32[2,2]{0,1} { { 1, 2 }, { 3, 4 } }", "{ { 1, 2 }, { 3, 4 } }"),
        ("(f32[2], s32[])", "( f32[2] {1, 2}, s32[] 3 )", "( {1, 2}, 3 )"),
        ("((f32[]), pred[])", "((f32[]), pred[]) ( (f32[]) ( f32[] 1 ), pred[] true )", "( ( 1 ), true )"),
        ("f32[20]", "f32[20] {...}", "{...}"),
    ],
)
def test_a_value_may_have_its_shape_before_it(shape: str, typed: str, plain: str) -> None:
    """XLA printed it until 2019 and no longer reads it: it is read, and not printed."""
    read, expected = (hm.parse(f"HloModule m\nENTRY e {{ ROOT c = {shape} constant({x}) }}") for x in (typed, plain))
    assert read.same_as(expected) and not read.diagnostics and str(read) == str(expected)
    assert hm.parse(read.to_proto()).same_as(hm.parse(expected.to_proto()))
    with pytest.raises(hm.errors.HloSyntaxError, match="a value without a shape before it"):
        hm.parse(f"HloModule m\nENTRY e {{ ROOT c = {shape} constant({typed}) }}", strict=True)


@pytest.mark.parametrize("typed", ["f32[3] {1, 2, 3}", "s32[2] {1, 2}", "f32[2]", "(f32[2] {1, 2})", "x[2] {1, 2}"])
def test_another_shape_before_a_value_is_an_error(typed: str) -> None:
    with pytest.raises(hm.errors.HloSyntaxError):
        hm.parse(f"HloModule m\nENTRY e {{ ROOT c = f32[2] constant({typed}) }}")


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_comment_ends_with_its_line(end: str) -> None:
    text = end.join(
        ["HloModule m // a", "ENTRY e { // b", " p = f32[2] parameter(0) // c", " ROOT n = f32[2] negate(p) }"]
    )
    assert [i.name for i in hm.parse(text, strict=True).entry] == ["p", "n"]
    assert hm.parse(end.join(["// a", text])).name == "m"


def test_a_module_without_a_name_is_the_one_that_is_printed() -> None:
    module = hm.parse("f32[2] negate(f32[2])")
    assert hm.parse(str(module)).same_as(module)


@pytest.mark.jax
def test_xla_reads_the_same_module() -> None:
    modules = [hm.parse(case) for case in ACCEPTED]
    reprinted = reprint([*ACCEPTED, *map(str, modules)])
    for case, xla, again in zip(ACCEPTED, reprinted, reprinted[len(ACCEPTED) :], strict=False):
        assert xla is not None and again is not None, case
        if not case.startswith("HloModule"):  # XLA takes a single instruction as scheduled.
            xla = re.sub(", is_scheduled=true", "", xla, count=1)
        assert _in_calling_order(hm.parse(again)) == _in_calling_order(hm.parse(xla)), f"{case}\n{again}\n{xla}"
        assert _constants(hm.parse(case)) == _constants(hm.parse(xla)), f"{case}\n{xla}"


@pytest.mark.jax
def test_what_xla_refuses_is_at_least_a_diagnostic() -> None:
    for case, xla in zip(REFUSED, reprint(list(REFUSED)), strict=True):
        assert xla is None, case
        with pytest.raises(hm.errors.HloSyntaxError):
            hm.parse(case, strict=True)


def _constants(module: hm.Module) -> list[str]:
    """The values of the constants, by name, as hlomap reads them."""
    constants = [i for c in module.computations for i in c if i.opcode == "constant"]
    return sorted(f"{i.name} {i.literal}" for i in constants if "anon" not in i.name)


def _in_calling_order(module: hm.Module) -> list[str]:
    """Every computation without names, from the entry on; the order of computations in a text is not significant."""
    waiting, seen = [module.entry], []
    while waiting:
        computation = waiting.pop()
        seen.append(computation.to_string(canonical_names=False, signatures=False))
        waiting += [callee for i in computation for callee in i.called_computations]
    return [re.sub(r"%[\w.-]+", "%", text) for text in seen]
