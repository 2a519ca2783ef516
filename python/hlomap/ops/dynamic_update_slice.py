"""dynamic-update-slice: output[d] = update[d - offset] inside the window at the clamped offset, operand[d] outside.

The outside is split into disjoint maps: inside the window along the first dimensions, before or behind it along the
next.  Section DynamicUpdateSlice of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._indexing.dynamic_offsets import Offset, clamped_offsets, from_window, outside_window, reads_offsets, to_window
from ._indexing.maps import map_to_all
from ._numpy.numeric import take_writable
from ._numpy.window import window_slices
from ._op import EvalContext, Maps, Memory, RuleContext, RuleResult, ShapeIndex, Value, register_moving
from ._rule import InPlace


def _window(instruction: Instruction) -> tuple[Sequence[int], Sequence[int], list[Offset]]:
    operands, sizes = instruction.operands, instruction.shape.dimensions
    window = operands[1].shape.dimensions
    return sizes, window, clamped_offsets(operands, 2, sizes, window)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d] outside the window, update[d - offset] inside, and all offsets."""
    at = _window(instruction)
    return [outside_window(*at), to_window(*at), *reads_offsets(instruction.shape, instruction.operands[2:])]


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """output[d] outside the window, output[d + offset] for the update; an offset affects every element."""
    if operand > 1:
        return [map_to_all(instruction.operands[operand].shape, instruction.shape)]
    sizes, window, offsets = _window(instruction)
    return [outside_window(sizes, window, offsets) if operand == 0 else from_window(window, offsets)]


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Value:
    """Clamp the offsets, then assign the update to the slice."""
    data = take_writable(operands, 0)
    data[window_slices(operands[2:], instruction.operands[0].shape.dimensions, operands[1].shape)] = operands[1]
    return data


register_moving(
    "dynamic-update-slice",
    Maps(output_to_input, input_to_output),
    evaluate,
    (0, 1),
    memory=Memory(in_place=lambda instruction: {(): InPlace(0)}, updated_operand=lambda instruction: 1),
)
