"""Indexing rules of dynamic-update-slice."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.dynamic_offsets import (
    Offset,
    clamped_offsets,
    from_window,
    offset_reaches,
    outside_window,
    reads_offsets,
    to_window,
)
from .._rule import RuleContext, RuleResult


def constant_operands(instruction: Instruction) -> tuple[int, ...]:
    """The offsets: constants are folded."""
    return tuple(range(2, len(instruction.operands)))


def _window(instruction: Instruction) -> tuple[Sequence[int], Sequence[int], list[Offset]]:
    operands, sizes = instruction.operands, instruction.shape.dimensions
    window = operands[1].shape.dimensions
    return sizes, window, clamped_offsets(operands, 2, sizes, window)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d] outside the window, update[d - offset] inside, and all offsets."""
    at = _window(instruction)
    return [outside_window(*at), to_window(*at), *reads_offsets(instruction.shape, instruction.operands[2:])]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[d] outside the window, output[d + offset] for the update; an offset affects every element."""
    if operand > 1:
        return [offset_reaches(instruction, operand)]
    sizes, window, offsets = _window(instruction)
    return [outside_window(sizes, window, offsets) if operand == 0 else from_window(window, offsets)]
