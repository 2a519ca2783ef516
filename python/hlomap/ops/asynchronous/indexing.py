"""Indexing rules of asynchronous operations, derived from the rule of the wrapped operation.

Operand j of the wrapped operation is bound by some step; from the next step on it is the element (0, j) of the step's
operand 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..._core import Instruction
from ...answers import Unknown
from ...errors import HlomapError
from ...types import ShapeIndex
from .._indexing.maps import by_number, forward_from_operand, forward_to_outputs, merge_parts
from .._rule import (
    NOTHING,
    CollectiveRule,
    InputToOutput,
    OperandIndexing,
    OpRule,
    OutputToInput,
    RuleContext,
    RuleResult,
)
from .._shapes import array_leaves
from .attributes import bound_operands, is_done, is_start, n_bound_before, new_results, wrapped_operation


def step_rules(opcode: str, wrapped: Callable[[], OpRule]) -> tuple[OutputToInput, InputToOutput]:
    """Element 0 of the output holds the bound operands, element 1 the result, the rest is the context of the operation.

    The done has the result alone.  What the step before has is forwarded.
    """

    def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        if not is_done(instruction):
            if leaf[0] == 0:
                operand, source = _place(instruction, leaf[1])
                return forward_from_operand(instruction, leaf, operand, source + leaf[2:])
            if leaf[0] > 1:
                return forward_from_operand(instruction, leaf, 0, leaf) if _keeps(instruction, leaf) else {}
        result = leaf if is_done(instruction) else leaf[1:]
        if result not in context.fact(instruction, _new_results):
            return forward_from_operand(instruction, leaf, 0, (1, *result))
        found = wrapped().output_to_input(wrapped_operation(instruction), result, context)
        return _at_operands(instruction, found, not wrapped().depends_on_called_values)

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
        number, rest = _operand_of_wrapped(instruction, operand, leaf)
        new = context.fact(instruction, _new_results)
        targets: list[ShapeIndex] = []
        if number is not None:
            targets = [] if is_done(instruction) else [(0, number, *rest)]
        elif leaf[0] == 1 and leaf[1:] not in new:
            targets = [leaf[1:] if is_done(instruction) else leaf]
        elif leaf[0] > 1 and not is_done(instruction) and _keeps(instruction, leaf):
            targets = [leaf]
        parts: list[OperandIndexing] = list(forward_to_outputs(instruction, operand, leaf, *targets))
        if number is None or not new:
            return parts
        try:
            found = wrapped().input_to_output(wrapped_operation(instruction), number, rest, context)
            if not wrapped().depends_on_called_values and not is_start(instruction):
                found = [_named_sources(instruction, part) for part in by_number(found).values()]
            kept = {k: _only(part, new) for k, part in by_number(found).items()}
        except HlomapError as error:  # the forwarded operands are known all the same
            kept = dict.fromkeys({index[0] if index else 0 for index in new}, Unknown(f"{opcode}: {error}"))
        if is_done(instruction):
            return [merge_parts([part, kept.get(k, NOTHING)]) for k, part in enumerate(parts)]
        parts[1] = merge_parts([parts[1], merge_parts(kept, (1,))])
        return parts

    return output_to_input, input_to_output


def _place(instruction: Instruction, number: int) -> tuple[int, ShapeIndex]:
    """Where a step has an operand of the wrapped operation: the number of its own operand, and the element of that."""
    n_before = n_bound_before(instruction)
    if is_start(instruction):
        return number, ()
    return (0, (0, number)) if number < n_before else (number - n_before + 1, ())


def _operand_of_wrapped(instruction: Instruction, operand: int, leaf: ShapeIndex) -> tuple[int | None, ShapeIndex]:
    """The inverse of :func:`_place` for a leaf; None for the result and the context of the step before."""
    if is_start(instruction):
        return operand, leaf
    if operand > 0:
        return n_bound_before(instruction) + operand - 1, leaf
    return (leaf[1], leaf[2:]) if leaf[0] == 0 else (None, leaf)


def _keeps(instruction: Instruction, leaf: ShapeIndex) -> bool:
    """Whether the step before has an element of the context, of the same sizes."""
    if is_start(instruction) or leaf not in array_leaves(instruction.operands[0].shape):
        return False
    return instruction.operands[0].shape.at(leaf).dimensions == instruction.shape.at(leaf).dimensions


def _new_results(instruction: Instruction, context: RuleContext) -> frozenset[ShapeIndex]:
    return new_results(instruction)


def _at_operands(instruction: Instruction, result: RuleResult, has_relative_sources: bool) -> RuleResult:
    """The result of the wrapped operation's rule at the operands of the step."""
    parts: dict[int, OperandIndexing] = {}
    for number, part in by_number(result).items():
        operand, source = _place(instruction, number)
        if operand >= len(instruction.operands):
            continue  # a later step binds it
        if has_relative_sources and not is_start(instruction):
            part = _named_sources(instruction, part)
        parts[operand] = merge_parts([parts.get(operand, NOTHING), merge_parts([part], source)])
    return parts


def _named_sources(instruction: Instruction, part: OperandIndexing) -> OperandIndexing:
    """Runtime sources as numbers of instructions: the operands of the wrapped operation belong to several steps."""
    if isinstance(part, Unknown) or not any(m.runtime for _, m in part.maps):
        return part
    numbers = {k: value.number for k, value in enumerate(bound_operands(instruction))}
    return part.of((leaf, m.remap_sources(numbers)) for leaf, m in part.maps)


def _only(part: OperandIndexing, leaves: frozenset[ShapeIndex]) -> OperandIndexing:
    return part if isinstance(part, Unknown) else part.of((leaf, m) for leaf, m in part.maps if leaf in leaves)


def start_collective(rule: CollectiveRule) -> CollectiveRule:
    """The rule of a collective's start: the same groups; the bound operands stay on their device."""

    def output_to_input(instruction: Instruction, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
        if leaf[0] == 1:
            return rule.output_to_input(wrapped_operation(instruction), leaf[1:])
        return forward_from_operand(instruction, leaf, leaf[1], leaf[2:]) if leaf[0] == 0 else {}

    def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex) -> Mapping[int, OperandIndexing]:
        forwarded = dict(enumerate(forward_to_outputs(instruction, operand, leaf, (0, operand, *leaf))))
        crossing = rule.input_to_output(wrapped_operation(instruction), operand, leaf)
        kept = {k: _only(part, new_results(instruction)) for k, part in crossing.items()}
        return {**forwarded, 1: merge_parts(kept, (1,))}

    return CollectiveRule(
        lambda instruction: rule.groups(wrapped_operation(instruction)), output_to_input, input_to_output
    )
