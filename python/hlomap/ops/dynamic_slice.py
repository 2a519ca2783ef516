"""dynamic-slice: output[d] = operand[d + offset], with offsets clamped so that the window lies in the operand.

Section DynamicSlice of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.dynamic_offsets import clamped_offsets, from_window, reads_offsets, to_window
from ._indexing.maps import map_to_all
from ._numpy.window import window_slices
from ._op import EvalContext, Maps, RuleContext, RuleResult, ShapeIndex, Value, register_moving


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d + offset], and all offsets."""
    operands, shape = instruction.operands, instruction.shape
    offsets = clamped_offsets(operands, 1, operands[0].shape.dimensions, shape.dimensions)
    return [from_window(shape.dimensions, offsets), *reads_offsets(shape, operands[1:])]


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """output[d - offset] where d is in the window; an offset affects every element."""
    if operand > 0:
        return [map_to_all(instruction.operands[operand].shape, instruction.shape)]
    operands, window = instruction.operands, instruction.shape.dimensions
    sizes = operands[0].shape.dimensions
    return [to_window(sizes, window, clamped_offsets(operands, 1, sizes, window))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Clamp the offsets, then slice."""
    data = np.asarray(operands[0])
    bounds = instruction.operands[0].shape.dimensions
    return data[window_slices(operands[1:], bounds, instruction.shape.dimensions)]


register_moving("dynamic-slice", Maps(output_to_input, input_to_output), evaluate, (0,))
