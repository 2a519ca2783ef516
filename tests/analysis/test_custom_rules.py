"""Rules of users: what they raise, and maps that do not belong to the arrays, are reasons to know nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import hlomap as hm
from hlomap.ops import lookup

CALL = """ENTRY e {
  p = f32[5] parameter(0)
  s = s32[] parameter(1)
  ROOT c = f32[6] custom-call(p, s), custom_call_target="rule"
}"""
NOTHING: list[hm.IndexingMap] = []


@pytest.fixture
def register() -> Iterator[Callable[..., hm.Instruction]]:
    with ExitStack() as registered:

        def register(*rules: Any, **more: Any) -> hm.Instruction:
            registered.enter_context(hm.register_rule("rule", *rules, **more))
            return hm.parse(CALL).entry.root

        yield register


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


def test_a_cost_alone(register: Callable[..., hm.Instruction]) -> None:
    """The maps stay unknown; a report has the numbers, a note and no bound from them, and a table has the numbers."""
    call = register(cost=lambda call: (7 * call.shape.n_elements, 5, 100))
    device = hm.Device("d", f32_flops_per_second=1, dram_bytes_per_second=1)
    found = hm.cost(call, device)
    assert (found.flops, found.transcendentals, found.exact) == (42, 5, False)
    # 24 bytes of the output, 24 of the operands, read more than once.
    assert (found.bytes_written, found.distinct_bytes, found.read_bytes) == (24, 24, 76)
    assert found.time_at_least == 24.0
    assert found.notes == ("'rule': as its registered cost says",)
    assert str(found).splitlines()[-2:] == ["a part is not known", *found.notes]
    assert hm.analyze(call.computation.module)["flops"] == [42, 42]
    assert hm.output_to_input(call)[0].is_unknown


def test_maps_tell_bytes_better(register: Callable[..., hm.Instruction]) -> None:
    one = hm.IndexingMap([6], [0])
    call = register(lambda *_: [one, NOTHING], cost=lambda _: hm.results.KernelCost(9, bytes_accessed=1000))
    found = hm.cost(call)
    assert (found.flops, found.transcendentals, found.distinct_bytes, found.bytes_written) == (9, 0, 4, 24)


def test_a_new_cost_replaces_the_old_one(register: Callable[..., hm.Instruction]) -> None:
    """Whatever was asked before: of the module, of another one with equal instructions, of a table."""
    module = register(cost=lambda _: (1, 0)).computation.module
    for n in (1, 2, 3):
        rule = hm.register_rule("rule", cost=lambda _, n=n: (n, 0))
        other = hm.parse(CALL)
        assert [hm.cost(m).flops for m in (module, other)] == [n, n]
        assert [hm.analyze(m)["flops"][0] for m in (module, other)] == [n, n]
    rule.unregister()
    assert hm.cost(module).notes == ("not counted: custom-call to 'rule' has no known operations",)
    assert hm.analyze(module)["flops"] == [None, None]
    register(lambda *_: [NOTHING, NOTHING])
    assert hm.cost(module).notes == ("not counted: custom-call to 'rule' has no known operations",)


def test_a_cost_in_place_of_that_of_an_opcode() -> None:
    """Inside a fusion, too, where some of the elements may take all of it."""
    module = hm.parse("""HloModule m
f { p = f32[8] parameter(0)  n = f32[8] negate(p)  ROOT s = f32[4] slice(n), slice={[0:4]} }
ENTRY e { p = f32[8] parameter(0)  q = f32[8] negate(p)  ROOT r = f32[4] fusion(q), kind=kLoop, calls=f }""")
    with hm.register_rule("negate", cost=lambda i: (0, 3 * i.shape.n_elements)):
        assert [(part.name, part.flops, part.transcendentals) for part in hm.cost(module).parts] == [
            ("q", 0, 24), ("r", 0, 24)
        ]  # fmt: skip
        assert not hm.output_to_input(module["r"])[0].is_unknown
    assert [part.flops for part in hm.cost(module).parts] == [8, 4]


def test_an_exchange_is_unknown_without_maps(register: Callable[..., hm.Instruction]) -> None:
    """A cost does not say what a kernel exchanges with other devices."""
    register(cost=lambda _: (1, 0))
    call = hm.parse(f"HloModule m, num_partitions=2\n{CALL}").entry.root
    assert lookup("custom-call").memory.exchange(call) is not None
    register(lambda *_: [NOTHING, NOTHING], cost=lambda _: (1, 0))
    assert lookup("custom-call").memory.exchange(call) is None


EXPECTED = "expected flops and transcendentals, and maybe bytes, as integers of at least 0"


@pytest.mark.parametrize(
    "returned", [None, (), (1,), (-1, 0), (1.0, 0), (1, 0, -5), (1, None), (True, 0), "12", {"flops": 1}, (1, 2, 3, 4)]
)
def test_wrong_costs_are_notes(register: Callable[..., hm.Instruction], returned: object) -> None:
    found = hm.cost(register(cost=lambda _: returned))
    assert found.notes == (f"not counted: the cost registered for 'rule' returned {returned!r}, {EXPECTED}",)
    assert (found.flops, found.exact) == (0, False)


def test_a_cost_may_raise_anything(register: Callable[..., hm.Instruction]) -> None:
    found = hm.cost(register(cost=raising(ZeroDivisionError("no rows"))))
    assert found.notes == ("not counted: the cost registered for 'rule' failed (ZeroDivisionError: no rows)",)
    with pytest.raises(KeyboardInterrupt):
        hm.cost(register(cost=raising(KeyboardInterrupt())))
    assert hm.cost(register(cost=lambda _: (2**128, 0))).notes == (
        "not counted: c: expected numbers of operations below 2**128",
    )


def test_costs_that_are_refused() -> None:
    with pytest.raises(TypeError, match=r"^hm.register_rule: expected a function as `output_to_input`, got None$"):
        hm.register_rule("rule")
    with pytest.raises(TypeError, match=r"^hm.register_rule: expected a function as `cost`, got int$"):
        hm.register_rule("rule", cost=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"expected a function as `output_to_input`, got None$"):
        hm.register_rule("rule", None, lambda *_: [], cost=lambda _: (1, 0))
    for opcode in ("fusion", "while", "conditional", "call"):
        with pytest.raises(ValueError, match=f"the cost of '{opcode}' follows from the computations that it runs"):
            hm.register_rule(opcode, cost=lambda _: (1, 0))


def test_a_rule_is_removed_once() -> None:
    """By itself alone: not by its handle after another rule of its name has come."""
    first, second = (hm.register_rule("rule", lambda *_: [NOTHING, NOTHING]) for _ in range(2))
    with pytest.raises(hm.errors.NotFoundError, match="this rule of 'rule' is not registered any more"):
        first.unregister()
    call = hm.parse(CALL).entry.root
    with second:
        assert not hm.output_to_input(call)[0].is_unknown
        with first:
            pass
        assert not hm.output_to_input(call)[0].is_unknown
    assert hm.output_to_input(call)[0].is_unknown
    with pytest.raises(hm.errors.NotFoundError):
        second.unregister()


def test_a_rule_for_what_the_core_knows_is_asked() -> None:
    """Without it, the elements of a tuple are found without a rule."""
    module = hm.parse("ENTRY e { p = (f32[5], f32[6]) parameter(0)  ROOT r = f32[6] get-tuple-element(p), index=1 }")
    assert str(hm.output_to_input(module.entry.root)[0][0]).startswith("(d0) -> (d0)")
    with hm.register_rule("get-tuple-element", raising(ValueError("asked"))):
        assert "asked" in str(hm.output_to_input(module.entry.root)[0].reason)
