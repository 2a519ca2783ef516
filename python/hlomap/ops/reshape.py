"""reshape: output and operand elements with the same row-major linear index are equal.

Sections Reshape and Collapse of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Instruction, Shape
from ..base.lazy import np
from ..errors import UnsupportedError
from ._indexing.maps import described, described_parts, map_to_all, over_approximate
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register_moving
from ._shapes import matched_dims

_PLAIN = "same linear index if static"


def _keeps_linear_order(a: Shape, b: Shape) -> bool:
    """Whether the elements in use of two arrays are equal at equal linear indices below the bounds.

    The elements in use are numbered without gaps.  Of the dimensions that match each other only the most major one that
    is not 1 may be dynamic, since the others are strides.
    """
    if True not in a.dynamic and True not in b.dynamic:
        return True
    for ours, theirs in matched_dims(a.dimensions, b.dimensions):
        for shape, dims in ((a, ours), (b, theirs)):
            if any(shape.dynamic[k] for k in [k for k in dims if shape.dimensions[k] != 1][1:]):
                return False
    return True


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Any element of arrays with dynamic dimensions that change the order of those in use."""
    a, b = instruction.shape, instruction.operands[0].shape
    if _keeps_linear_order(a, b):
        return described_parts(_PLAIN, instruction)
    return [over_approximate(map_to_all(a, b))]


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """As :func:`output_to_input`, in the other direction."""
    a, b = instruction.operands[0].shape, instruction.shape
    if _keeps_linear_order(a, b):
        return described_parts(_PLAIN, instruction, shape_index, operand)
    return [over_approximate(map_to_all(a, b))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.reshape``, whose default order is row-major, too, of the elements in use."""
    return np.reshape(operands[0], reshaped_sizes(instruction, operands[0].shape))


# Sizes in use of the result of an operation on arrays with dynamic dimensions.


def reshaped_sizes(instruction: Instruction, sizes: Sequence[int]) -> list[int]:
    """The sizes of a reshape of an operand with these sizes in use.

    Of the dimensions that match each other, one of the result may be dynamic, and its size follows from the others.
    """
    shape, bounds = instruction.shape, instruction.operands[0].shape.dimensions
    found = list(shape.dimensions)
    if tuple(sizes) == tuple(bounds):
        return found
    for ours, theirs in matched_dims(bounds, shape.dimensions):
        n = prod(sizes[k] for k in ours)
        varying = [k for k in theirs if shape.dynamic[k] and shape.dimensions[k] > 1] or [
            k for k in theirs if shape.dynamic[k]
        ]
        fixed = prod(shape.dimensions[k] for k in theirs if k not in varying)
        if len(varying) > 1 or fixed == 0 or n % fixed or (not varying and n != fixed):
            raise UnsupportedError(f"the sizes in use, {list(sizes)}, do not determine those of {shape}")
        for k in varying:
            found[k] = n // fixed
    return found


register_moving(
    "reshape",
    described(_PLAIN, output_to_input, input_to_output),
    evaluate,
    builder_methods=("reshape", "collapse"),
)
