"""Indexing rules of conditional."""

from __future__ import annotations

from collections.abc import Mapping

from ..._core import Computation, Instruction
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.maps import map_to_all, map_to_scalar, merge_parts
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import array_leaves, n_outputs, shape_at
from .attributes import branch_computations


def _branches(instruction: Instruction, context: RuleContext) -> tuple[Computation, ...]:
    return branch_computations(instruction)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Through each branch to its operand; every element depends on the selector."""
    sizes = shape_at(instruction.shape, leaf).dimensions
    parts: list[OperandIndexing] = [map_to_scalar(sizes)]
    for branch in context.fact(instruction, _branches):
        parts.append(_of_branch(merge_parts(context.output_to_input(instruction, branch, leaf))))
    return parts


def _of_branch(part: OperandIndexing) -> OperandIndexing:
    """The elements that a branch mentions, for all values of its runtime variables: the caller does not have them."""
    return part if isinstance(part, Unknown) else part.for_any_runtime("an offset is a value inside a branch")


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Through the branch of the operand; the selector affects every element."""
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(instruction.shape)
    if operand == 0:
        for output in array_leaves(instruction.shape):
            number = output[0] if output else 0
            before = parts[number]
            assert isinstance(before, Footprint), "all parts are footprints"
            parts[number] = before + map_to_all((), shape_at(instruction.shape, output).dimensions).at(output)
        return parts
    result = context.input_to_output(instruction, context.fact(instruction, _branches)[operand - 1], 0, leaf)
    for number, part in result.items() if isinstance(result, Mapping) else enumerate(result):
        parts[number] = _of_branch(part)
    return parts
