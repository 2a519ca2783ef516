"""The indexing rule of conditional."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._core import Instruction, Shape
from ...types import ShapeIndex, Unknown
from .._indexing.maps import map_to_all, map_to_scalar
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import array_leaves, n_outputs, shape_at
from .attributes import branch_computations

_REASON = "one of several branches"


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Each branch to its own operand; the index always."""
    sizes = shape_at(instruction.shape, leaf).dimensions
    parts: list[OperandIndexing] = [map_to_scalar(sizes)]
    for branch, operand in zip(branch_computations(instruction), instruction.operands[1:], strict=True):
        answer = context.output_to_input(instruction, branch, leaf)
        part = answer.get(0, NOTHING) if isinstance(answer, Mapping) else answer[0]
        parts.append(_one_of(part, sizes, operand.shape))
    return parts


def _one_of(part: OperandIndexing, sizes: Sequence[int], target: Shape) -> OperandIndexing:
    """What may be read; an offset inside a branch is no value of the caller, so any may be."""
    if isinstance(part, Unknown) or part == NOTHING:
        return part
    total = NOTHING
    for leaf, m in part.maps:
        whole = map_to_all(sizes, shape_at(target, leaf).dimensions).at(leaf)
        total = total + (whole if m.runtime else Footprint(((leaf, m),)))
    return Footprint(total.maps, False, part.reason or _REASON, part.crosses_devices)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From the parameter of the branch to its value; the index reaches everything."""
    branches = branch_computations(instruction)
    parts: list[OperandIndexing] = [NOTHING] * n_outputs(instruction.shape)
    if operand == 0:
        for there in array_leaves(instruction.shape):
            which = there[0] if there else 0
            before = parts[which]
            assert isinstance(before, Footprint), "only footprints are put here"
            parts[which] = before + map_to_all((), shape_at(instruction.shape, there).dimensions).at(there)
        return parts
    answer = context.input_to_output(instruction, branches[operand - 1], 0, leaf)
    for which, part in answer.items() if isinstance(answer, Mapping) else enumerate(answer):
        parts[which] = _one_of(part, shape_at(instruction.operands[operand].shape, leaf).dimensions, instruction.shape)
    return parts
