"""The registry of op rules, filled by the modules of :mod:`hlomap.ops`.

A module is imported when :func:`lookup` first needs it: one that is named after an operation has the rule of it, the
others have those of families.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from typing import TypeAlias

from .._core import Instruction, known_opcodes
from ..base.answers import Unknown
from ..base.types import ShapeIndex
from ..errors import UnsupportedError
from ._evaluation import EvalContext, Value
from ._rule import CustomRule, Maps, Memory, OpRule, RuleContext, RuleResult, RuleTraits, Semantics, has_several_devices
from ._shapes import n_outputs
from ._traits import TRAITS

Derive: TypeAlias = Callable[[str, Mapping[str, OpRule]], OpRule | None]

_registry: dict[str, OpRule] = {}
traits: dict[str, RuleTraits] = {opcode: RuleTraits(*of) for opcode, of in TRAITS.items()}
"""The traits of op rules, by opcode, before their modules are imported."""
_derived: list[Derive] = []
_listeners: list[Callable[[OpRule], None]] = []


def register(op: OpRule) -> None:
    """Register an op rule; :class:`RuntimeError` if the opcode has one already, which is a bug in this package."""
    if op.opcode in _registry:
        raise RuntimeError(f"two op rules for {op.opcode!r}")
    _registry[op.opcode], traits[op.opcode] = op, RuleTraits.of(op, op)
    for listener in _listeners:
        listener(op)


def register_derived(derive: Derive) -> None:
    """Let ``derive(opcode, registered)`` return the rule of an opcode that is not registered, or None."""
    _derived.append(derive)


def each(listener: Callable[[OpRule], None]) -> None:
    """Calls ``listener`` with every registered op rule, and with every op rule that is registered later."""
    for opcode in registered():
        listener(_registry[opcode])
    _listeners.append(listener)


def registered() -> tuple[str, ...]:
    """The registered opcodes, sorted."""
    for module in chain(*_modules()):
        import_module(f".{module}", __package__)
    return tuple(sorted(_registry))


def lookup(opcode: str) -> OpRule:
    """The op rule of an opcode; the rules of an opcode that is not registered return Unknown."""
    found = _registry.get(opcode)
    return found if found is not None else _imported(opcode)


@lru_cache(maxsize=256)
def _imported(opcode: str) -> OpRule:
    """The rule of an opcode whose module may not be imported yet."""
    operations, families = _modules()
    name = opcode.replace("-", "_")
    for module in ([name] if name in operations else []) + families + operations:
        import_module(f".{module}", __package__)
        if opcode in _registry:
            return _registry[opcode]
    found = (derive(opcode, _registry) for derive in _derived)
    return next((op for op in found if op is not None), None) or unknown_op(opcode)


@cache
def _modules() -> tuple[list[str], list[str]]:
    """The modules that are named after an operation, and the others, those of common operations first."""
    found = {name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__))}
    names = sorted(name for name in found if name.isidentifier() and name[0] != "_")  # editors leave other files
    common = ["calls", "elementwise", "sources", "tuples", "loops"]
    names.sort(key=lambda name: common.index(name) if name in common else len(common))
    opcodes = {opcode.replace("-", "_") for opcode in known_opcodes()}
    return [name for name in names if name in opcodes], [name for name in names if name not in opcodes]


custom_rules: dict[str, CustomRule] = {}
"""The rules that users have registered, by opcode or custom call target."""


def custom_rule_of(instruction: Instruction) -> CustomRule | None:
    """The rule that a user has registered for the custom call target of an instruction, else for its opcode."""
    if not custom_rules:
        return None
    target = instruction.attributes.get("custom_call_target")
    rule = custom_rules.get(target) if isinstance(target, str) else None
    return rule if rule is not None else custom_rules.get(instruction.opcode)


def op_of(instruction: Instruction) -> OpRule:
    """The op rule of an instruction; a custom rule for its opcode or custom call target takes precedence."""
    op = lookup(instruction.opcode)
    if custom_rules:
        rule = custom_rule_of(instruction)
        if rule is not None:
            operations = op.semantics.operations if rule.operations is None else rule.operations
            if rule.maps is None:
                return op._replace(semantics=op.semantics._replace(operations=operations))
            return OpRule(op.opcode, Maps(*rule.maps), Semantics(op.semantics.evaluate, operations))
    return op


def has_custom_maps(*names: str) -> bool:
    """Whether a user has registered maps for one of these opcodes or custom call targets."""
    return any(name in custom_rules and custom_rules[name].maps is not None for name in names)


@lru_cache(maxsize=256)
def unknown_op(opcode: str) -> OpRule:
    """The op rule of an operation that is not registered."""
    unknown = Unknown(f"no rule for {opcode}")

    def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
        return [unknown] * len(instruction.operands)

    def input_to_output(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
    ) -> RuleResult:
        return [unknown] * n_outputs(instruction.shape)

    def exchange(instruction: Instruction) -> Unknown | None:
        return unknown if has_several_devices(instruction) and not has_custom_maps(opcode) else None

    maps, semantics = Maps(output_to_input, input_to_output), Semantics(_unsupported)
    return OpRule(opcode, maps, semantics, memory=Memory(exchange=exchange))


def _unsupported(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    raise UnsupportedError(f"no semantics for {instruction.opcode}, needed by {instruction.name}")
