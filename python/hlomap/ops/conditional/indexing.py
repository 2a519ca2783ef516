"""Indexing rules of conditional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._core import Instruction, Shape
from ...types import ShapeIndex, Unknown
from .._indexing.maps import map_to_all, map_to_scalar
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import array_leaves, n_outputs, shape_at
from .attributes import branch_computations

_REASON = "an offset is a value inside a branch"


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Through each branch to its operand; every element depends on the selector."""
    sizes = shape_at(instruction.shape, leaf).dimensions
    parts: list[OperandIndexing] = [map_to_scalar(sizes)]
    for branch, operand in zip(branch_computations(instruction), instruction.operands[1:], strict=True):
        result = context.output_to_input(instruction, branch, leaf)
        part = result.get(0, NOTHING) if isinstance(result, Mapping) else result[0]
        parts.append(_of_branch(part, sizes, operand.shape))
    return parts


def _of_branch(part: OperandIndexing, sizes: Sequence[int], target: Shape) -> OperandIndexing:
    """The elements that a branch mentions.

    A runtime variable inside a branch is not a value of the caller, so it may lead to any element.
    """
    if isinstance(part, Unknown) or part == NOTHING:
        return part
    total = NOTHING
    for leaf, m in part.maps:
        whole = map_to_all(sizes, shape_at(target, leaf).dimensions).at(leaf)
        total = total + (whole if m.runtime else Footprint(((leaf, m),)))
    exact = part.exact and not any(m.runtime for _, m in part.maps)
    return Footprint(total.maps, exact, None if exact else part.reason or _REASON, part.crosses_devices)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Through the branch of the operand; the selector affects every element."""
    branches = branch_computations(instruction)
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(instruction.shape)
    if operand == 0:
        for output in array_leaves(instruction.shape):
            number = output[0] if output else 0
            before = parts[number]
            assert isinstance(before, Footprint), "all parts are footprints"
            parts[number] = before + map_to_all((), shape_at(instruction.shape, output).dimensions).at(output)
        return parts
    result = context.input_to_output(instruction, branches[operand - 1], 0, leaf)
    for number, part in result.items() if isinstance(result, Mapping) else enumerate(result):
        parts[number] = _of_branch(
            part, shape_at(instruction.operands[operand].shape, leaf).dimensions, instruction.shape
        )
    return parts
