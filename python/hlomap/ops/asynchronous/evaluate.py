"""Semantics of asynchronous operations: the first step with all operands that has a part of the result runs them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from ..._core import Instruction, Shape
from .._evaluation import EvalContext, Evaluate, Value
from .._shapes import n_outputs
from .attributes import is_done, is_start, is_whole, new_results, result_shape, wrapped_operation


def evaluate_step(wrapped: Callable[[], Evaluate]) -> Evaluate:
    """The bound operands, the result and the context of the step before; the done has the result alone."""

    def evaluate_step(instruction: Instruction, operands: list[Value], context: EvalContext) -> Any:
        before, new = (((), ()), operands) if is_start(instruction) else (operands[0], operands[1:])
        bound, value = (*before[0], *new), before[1]
        if new_results(instruction) and is_whole(instruction):
            operation = wrapped_operation(instruction)
            whole = wrapped()(operation, list(bound), context)
            if isinstance(whole, Generator):
                whole = yield from whole
            value = _extended(value, whole, result_shape(instruction))
        if is_done(instruction):
            return value
        context_values = [*before[2:], *[None] * n_outputs(instruction.shape)][: n_outputs(instruction.shape) - 2]
        return (bound, value, *context_values)

    return evaluate_step


def _extended(value: Value, whole: Value, shape: Shape) -> Value:
    """A result, of which the step before has a prefix, up to ``shape``, which is a prefix of the whole."""
    if not shape.is_tuple:
        return whole if isinstance(value, tuple) else value
    parts = [*value, *[()] * (n_outputs(shape) - len(value))]
    return tuple(_extended(part, whole[k], shape.at((k,))) for k, part in enumerate(parts))
