"""while: the body is applied to the carried value as long as the condition holds.

A leaf that the body forwards unchanged has the identity map.  The maps of other leaves cover every number of
iterations, found by composing the body's maps with themselves up to a fixed point; where there are too many of them,
the whole array replaces them.  The number of iterations depends on the elements that the condition reads, so every leaf
that changes depends on those.  Section While of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from .._core import Instruction, _condition_and_body
from ..base.lazy import np
from ._evaluation import on_arrays
from ._known import UNKNOWN, Known, KnownContext, Parts, converted
from ._op import (
    Calls,
    EvalContext,
    Maps,
    Memory,
    RuleContext,
    RuleResult,
    Semantics,
    ShapeIndex,
    Steps,
    Value,
    Values,
    register,
)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps through all iterations; where their number is not known, through any number of them."""
    return context.through_loop(instruction, shape_index, -1)


def carried_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The maps from the carried value before any iteration, or in the last test of the condition."""
    return context.through_loop(instruction, shape_index, -1, anywhere=True).parts


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """As :func:`output_to_input`, in the other direction."""
    return context.through_loop(instruction, shape_index, operand)


def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """The carried arrays after the loop."""
    return _carried(instruction, operands[0], converted(instruction, operands))


def known_parameter(caller: Instruction, operands: Sequence[Known]) -> Known:
    """The carried arrays at the beginning of any iteration; those that change are finite by assumption."""
    return _carried(caller, operands[0], UNKNOWN)


def _carried(loop: Instruction, before: Known, changed: Known) -> Known:
    _, body = _condition_and_body(loop)
    if not isinstance(before, Parts):
        return changed
    return Parts([own if body._forwards((i,)) else changed for i, own in enumerate(before)])


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Iterate until the condition is false; for arrays of conditions, elements that are done keep their values."""
    condition, body = _condition_and_body(instruction)
    carried = operands
    while True:
        continues = yield context.call(condition, list(carried))
        if not np.any(continues):
            return carried.pop()
        context.count_steps()
        if np.all(continues):
            carried.append((yield context.call(body, carried)))
        else:
            before = carried[0]
            after = yield context.call(body, list(carried))
            carried[0] = on_arrays(partial(np.where, continues), after, before)


register(
    "while",
    Maps(output_to_input, input_to_output, follows_tokens=True),
    Semantics(evaluate, pointwise=True),
    values=Values(known=known_values),
    memory=Memory(moves_nothing=True),
    calls=Calls(runs="loop", parameter_to_operands=carried_to_input, known_parameter=known_parameter),
)
