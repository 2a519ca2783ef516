"""pad: output[low + (interior + 1) * d] = operand[d] where that index exists; all other elements are the padding value.

``low`` and ``high`` may be negative, and then remove elements after interior padding.  The elements with the padding
value are split into disjoint maps by the first dimension along which they are not data.  Section Pad of XLA's operation
semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._indexing.maps import described, described_parts, map_to_all, map_to_scalar, over_approximate
from ._numpy.window import padded
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register_moving

_PLAIN = "[padding.0 + (padding.2 + 1) * a] <- [a], else [] if static"


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Of any element, whether it is data depends on the elements in use."""
    data, value = described_parts(_PLAIN, instruction)
    if _ends_vary(instruction):
        return [over_approximate(data), over_approximate(map_to_scalar(instruction.shape))]
    return [data, value]


def _ends_vary(instruction: Instruction) -> bool:
    """Whether padding follows the last element in use of a dynamic dimension, wherever that is."""
    shape = instruction.operands[0].shape
    return True in shape.dynamic and any(
        high > 0 and shape.dynamic[i] for i, (_, high, _) in enumerate(instruction.attributes["padding"])
    )


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """Of the padding value to any element that may be padding."""
    (part,) = described_parts(_PLAIN, instruction, shape_index, operand)
    if not _ends_vary(instruction):
        return [part]
    return [over_approximate(part if operand == 0 else map_to_all((), instruction.shape))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Insert interior padding, then extend or cut both ends."""
    data, value = operands
    return padded(data, range(data.ndim), instruction.attributes["padding"], value)


register_moving("pad", described(_PLAIN, output_to_input, input_to_output), evaluate)
