"""Semantics of custom-call: the function that the user passed for its target, else its definition."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Sequence

from ..._core import Instruction
from ...answers import Unknown
from ...errors import UnsupportedError
from ...library_calls.definitions import definition_of
from .._evaluation import EvalContext, Steps, Value
from .._numpy.input_checks import call_user_function, check_value, owned
from .attributes import SINKS, is_annotation, target_of


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """The function for the target, applied to the operands; without one the definition of a library call."""
    target = target_of(instruction)
    if target not in context.grid.custom_calls:
        definition = definition_of(instruction)
        if isinstance(definition, Instruction):
            return (yield context.call(definition.called_computations[0], operands))
        if isinstance(definition, Unknown):
            raise UnsupportedError(f"{definition.reason}; pass custom_calls={{{target!r}: …}}")
    return _value(instruction, operands, context)


def _value(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    target = target_of(instruction)
    function = context.grid.custom_calls.get(target)
    if function is None:
        if is_annotation(instruction):
            return operands[0]
        if target in SINKS and instruction.shape.is_tuple and not instruction.shape.tuple_shapes:
            return ()
        raise UnsupportedError(f"no function for custom call target {target!r}: pass custom_calls={{{target!r}: …}}")
    offered = {"instruction": instruction, "count_steps": context.count_steps}
    keywords = {name: value for name, value in offered.items() if name in _parameters(function)}
    value = call_user_function(function, *map(owned, operands), **keywords)
    return owned(check_value(_as_tuples(value), instruction.shape, f"the value of custom call target {target!r}"))


def _parameters(function: Callable[..., Value]) -> Container[str]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()  # some compiled functions have no signature


def _as_tuples(value: Value) -> Value:
    return tuple(_as_tuples(x) for x in value) if isinstance(value, (tuple, list)) else value
