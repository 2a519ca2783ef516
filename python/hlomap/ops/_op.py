"""Names for the file of every operation: its rule, the arguments and results of the rule's functions, and traits."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from ..base.types import ShapeIndex as ShapeIndex
from ._evaluation import Array as Array, EvalContext as EvalContext, Evaluate, Steps as Steps, Value as Value
from ._folding import by_moving
from ._known import moved
from ._registry import register as register_rule
from ._rule import (
    Calls as Calls,
    ElementwiseMethod,
    Maps as Maps,
    Memory as Memory,
    OpRule,
    RuleContext as RuleContext,
    RuleResult as RuleResult,
    Semantics as Semantics,
    Values as Values,
)

P = ParamSpec("P")


def _registering(make: Callable[P, OpRule]) -> Callable[P, None]:
    return lambda *fields, **records: register_rule(make(*fields, **records))


def _moving(
    opcode: str,
    maps: Maps,
    evaluate: Evaluate,
    data: tuple[int, ...] = (),
    builder_methods: tuple[str | ElementwiseMethod, ...] = (),
    memory: Memory = Memory(),  # noqa: B008 (immutable)
) -> OpRule:
    values = Values(moved(*data), folds=by_moving(evaluate, data))
    return OpRule(opcode, maps, Semantics(evaluate, "moves", builder_methods=builder_methods), values, memory)


register = _registering(OpRule)
"""Registers the op rule with these records."""

register_moving = _registering(_moving)
"""Registers the rule of an operation whose elements are all elements of the operands ``data`` (none: of any
operand)."""
