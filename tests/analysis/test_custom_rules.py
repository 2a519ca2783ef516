"""Rules of users: what they raise, and maps that do not belong to the arrays, are reasons to know nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hlomap as hm

CALL = """ENTRY e {
  p = f32[5] parameter(0)
  s = s32[] parameter(1)
  ROOT c = f32[6] custom-call(p, s), custom_call_target="rule"
}"""
NOTHING: list[hm.IndexingMap] = []


@pytest.fixture
def register() -> Iterator[Callable[..., hm.Instruction]]:
    def register(*rules: Any) -> hm.Instruction:
        hm.register_rule("rule", *rules)
        return hm.parse(CALL).entry.root

    yield register
    hm.unregister_rule("rule")


def raising(error: BaseException) -> Callable[..., Any]:
    def rule(*_: object) -> Any:
        raise error

    return rule


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("\ud800"), r"ValueError: \\ud800"),
        (ValueError("x" * 1_000_000), "x{900}"),
        (NotImplementedError("later"), "NotImplementedError: later"),
        (RecursionError(), "RecursionError"),
        (MemoryError(), "MemoryError"),
        (hm.errors.MapError("no"), "MapError: no"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_rule_may_raise_anything(register: Callable[..., hm.Instruction], error: Exception, text: str) -> None:
    rule = raising(error)
    for call in (register(rule), register(lambda *_: [NOTHING, NOTHING], rule)):
        with pytest.raises(AssertionError, match=text):
            _known(hm.input_to_output(call)[0])
        assert len(hm.analyze(call.computation.module)) == 2
    with pytest.raises(AssertionError, match=text):
        _known(hm.output_to_input(register(rule))[0])


def test_interrupts_are_not_caught(register: Callable[..., hm.Instruction]) -> None:
    with pytest.raises(KeyboardInterrupt):
        hm.output_to_input(register(raising(KeyboardInterrupt())))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(d0) -> (0), domain: d0 in [0, 8]", r"domain leaves the array: d0 in \[0, 8\] of f32\[6\]"),
        ("(d0) -> (0), domain: d0 in [-1, 5]", r"domain leaves the array: d0 in \[-1, 5\] of f32\[6\]"),
        ("(d0) -> (d0), domain: d0 in [0, 5]", r"image leaves the array: result 0 in \[0, 5\] of f32\[5\]"),
        ("(d0) -> (d0 - 1), domain: d0 in [0, 5]", r"image leaves the array: result 0 in \[-1, 4\] of f32\[5\]"),
        ("(d0)[s0] -> (s0), domain: d0 in [0, 5], s0 in [0, 5]", "image leaves the array"),
        ("(d0){rt0} -> (rt0), domain: d0 in [0, 5], rt0 in [0, 5], runtime: rt0 = #1()", "image leaves the array"),
        (
            "(d0){rt0} -> (0), domain: d0 in [0, 5], rt0 in [0, 4], runtime: rt0 = #2()",
            "the source 2; there are 2 operands",
        ),
        ("(d0){rt0} -> (0), domain: d0 in [0, 5], rt0 in [0, 4], runtime: rt0 = #1(d0)", "1 indices of an operand of"),
        ("(d0, d1) -> (d0), domain: d0 in [0, 1], d1 in [0, 1]", "2 dims and 1 result,"),
        ("(d0) -> (d0, d0), domain: d0 in [0, 4]", "1 dim and 2 results"),
        # Within the array, though the bounds of the result are not, or though nothing is read.
        ("(d0) -> (d0), domain: d0 in [0, 5], d0 + 1 in [0, 5]", None),
        ("(d0)[s0] -> (d0 + s0), domain: d0 in [0, 5], s0 in [0, 4], d0 + s0 in [0, 4]", None),
        ("(d0) -> (d0 - d0 floordiv 5), domain: d0 in [0, 5]", None),
        ("(d0) -> (d0 * (d0 mod 2)), domain: d0 in [0, 5], d0 * (d0 mod 2) in [0, 3]", None),
    ],
)
def test_maps_stay_within_the_arrays(register: Callable[..., hm.Instruction], text: str, reason: str | None) -> None:
    m = hm.IndexingMap.parse(text)
    call = register(lambda *_: [m, NOTHING])
    for found in (hm.output_to_input(call)[0], hm.input_to_output(call)[0]):
        assert found.is_unknown == (reason is not None)
        if reason is not None:
            with pytest.raises(AssertionError, match=reason):
                _known(found)


def test_the_other_direction_stays_within_the_arrays(register: Callable[..., hm.Instruction]) -> None:
    for text, reason in [
        ("(d0) -> (d0 + 2), domain: d0 in [0, 4]", r"image leaves the array: result 0 in \[2, 6\] of f32\[6\]"),
        ("(d0) -> (d0), domain: d0 in [0, 5]", r"domain leaves the array: d0 in \[0, 5\] of f32\[5\]"),
    ]:
        m = hm.IndexingMap.parse(text)
        with pytest.raises(AssertionError, match=reason):
            _known(hm.input_to_output(register(lambda *_: [NOTHING, NOTHING], lambda *_, m=m: [m]))[0])


def test_results_that_are_no_maps(register: Callable[..., hm.Instruction]) -> None:
    m = hm.IndexingMap([6], [0])
    for result in (None, 3, [], [NOTHING], [[1], [2]], [{(3,): m}, NOTHING], [{"a": m}, NOTHING]):
        call = register(lambda *_, result=result: result)
        assert hm.output_to_input(call)[0].is_unknown and hm.input_to_output(call)[0].is_unknown, result


def _known(found: hm.MapSet) -> None:
    assert not found.is_unknown, found.reason
