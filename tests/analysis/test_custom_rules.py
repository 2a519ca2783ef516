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


def _known(found: hm.MapSet) -> None:
    assert not found.is_unknown, found.reason
