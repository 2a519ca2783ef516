"""An operation started in short: ``transpose-start(p), dimensions={1,0}`` is a transpose, its operands beside it.

:func:`short_form` is the way in.  The law: the start gives (operands, result, ...), updates hand that on, the done
gives the result.  The operation's own page answers for the result; it sees the start as if it had the result's shape.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, cast

from .._core import Instruction, Shape
from ..errors import HlomapError
from ..types import ShapeIndex, Unknown
from ._evaluation import EvalContext, Value
from ._indexing.maps import below, passes_from, passes_to
from ._rule import NOTHING, CollectiveRule, OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import n_outputs, shape_at


def short_form(opcode: str, page_of: Mapping[str, OpRule]) -> OpRule | None:
    """The op of a start, an update or a done of an operation that has a page."""
    base, _, step = opcode.rpartition("-")
    if base not in page_of:
        return None
    if step == "start":
        return _started(opcode, page_of[base])
    if step == "update":
        return _handed_on(opcode, ())
    return _handed_on(opcode, (1,)) if step == "done" else None


class _Result:
    """A start as its own page sees it: the same instruction with the shape of the result."""

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self.shape: Shape = shape_at(instruction.shape, (1,))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instruction, name)


def _seen(instruction: Instruction) -> Instruction:
    return cast(Instruction, _Result(instruction))


def _started(opcode: str, op: OpRule) -> OpRule:
    def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if leaf[0] == 0:
            return passes_from(instruction, leaf, leaf[1], leaf[2:])
        if leaf[0] == 1:
            return op.output_to_input(_seen(instruction), leaf[1:], context)
        return [NOTHING] * len(instruction.operands)

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        parts = passes_to(instruction, operand, leaf, (0, operand, *leaf))
        try:
            through = op.input_to_output(_seen(instruction), operand, leaf, context)
            parts[1] = below(through, (1,))
        except HlomapError as error:  # the operands beside the result are known all the same
            parts[1] = Unknown(f"{opcode}: {error}")
        return parts

    def evaluate(instruction: Instruction, operands: list[Value], run: EvalContext) -> Any:
        given = tuple(operands)
        rest = (None,) * (n_outputs(instruction.shape) - 2)
        value = op.evaluate(_seen(instruction), operands, run)
        if isinstance(value, Generator):
            value = yield from value
        return (given, value, *rest)

    return OpRule(
        opcode,
        output_to_input,
        input_to_output,
        evaluate,
        op.constant_operands,
        per_instruction=op.per_instruction,
        collective=_started_exchange(op.collective) if op.collective is not None else None,
    )


def _started_exchange(result: CollectiveRule) -> CollectiveRule:
    """The same devices; the operands beside the result stay where they are."""

    def output_to_input(instruction: Instruction, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
        if leaf[0] == 1:
            return result.output_to_input(_seen(instruction), leaf[1:])
        return passes_from(instruction, leaf, leaf[1], leaf[2:]) if leaf[0] == 0 else {}

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
        beside = dict(enumerate(passes_to(instruction, operand, leaf, (0, operand, *leaf))))
        return {**beside, 1: below(result.input_to_output(_seen(instruction), operand, leaf), (1,))}

    return CollectiveRule(lambda instruction: result.groups(_seen(instruction)), output_to_input, input_to_output)


def _handed_on(opcode: str, source: ShapeIndex) -> OpRule:
    def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        return passes_from(instruction, leaf, 0, source + leaf)

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if leaf[: len(source)] != source:
            return passes_to(instruction, operand, leaf)
        return passes_to(instruction, operand, leaf, leaf[len(source) :])

    def evaluate(instruction: Instruction, operands: list[Value], run: EvalContext) -> Value:
        value = operands[0]
        for i in source:
            value = value[i]
        return value

    return OpRule(opcode, output_to_input, input_to_output, evaluate)
