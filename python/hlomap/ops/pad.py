"""pad: output[low + (interior + 1) * d] = operand[d] where that index exists; all other elements are the padding value.

``low`` and ``high`` may be negative, and then remove elements after interior padding.  The elements with the padding
value are split into disjoint maps by the first dimension along which they are not data.  Section Pad of XLA's operation
semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._core import Expr, Instruction
from ._indexing.maps import dim_exprs, map_to_all, map_to_scalar, outside, over_approximate, range_exprs, single_map
from ._numpy.window import padded
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register_moving


class PaddedDim(NamedTuple):
    """One dimension: the operand elements in ``kept`` lie ``step`` apart in the output, from ``low`` on.

    In the output these are within ``data``, which is empty as ``(0, -1)``.
    """

    low: int
    step: int
    size: int
    kept: tuple[int, int]
    data: tuple[int, int]


def padded_dims(instruction: Instruction) -> list[PaddedDim]:
    """The dimensions of operand and output."""
    dims = []
    sizes, lengths = instruction.shape.dimensions, instruction.operands[0].shape.dimensions
    for (low, _, interior), size, length in zip(instruction.attributes["padding"], sizes, lengths, strict=True):
        step = interior + 1
        begin, end = -(low // step) if low < 0 else 0, min(length - 1, (size - 1 - low) // step)
        data = (low + step * begin, low + step * end) if begin <= end else (0, -1)
        dims.append(PaddedDim(low, step, size, (begin, end), data))
    return dims


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[(d - low) / (interior + 1)] for data, the padding value for all other elements."""
    dims, indices, shape = padded_dims(instruction), dim_exprs(instruction.shape.rank), instruction.shape
    is_data = _conditions(dims, indices)
    results = [(d - dim.low) // dim.step for d, dim in zip(indices, dims, strict=True)]
    data = single_map(shape, results, constraints=[condition[:3] for condition in is_data])
    if _ends_vary(instruction):
        return [over_approximate(data), over_approximate(map_to_scalar(shape))]
    return [data, outside(shape, (), is_data)]


def _ends_vary(instruction: Instruction) -> bool:
    """Whether padding follows the last element in use of a dynamic dimension, wherever that is."""
    shape = instruction.operands[0].shape
    return True in shape.dynamic and any(
        high > 0 and shape.dynamic[i] for i, (_, high, _) in enumerate(instruction.attributes["padding"])
    )


def _conditions(dims: Sequence[PaddedDim], indices: Sequence[Expr]) -> list[tuple[Expr, int, int, int, int]]:
    """The expressions of an index in the output with their bounds, first where the element is data, then anywhere."""
    found = []
    for d, dim in zip(indices, dims, strict=True):
        found.append((d, *dim.data, 0, dim.size - 1))
        if dim.step > 1:
            found.append(((d - dim.low) % dim.step, 0, 0, 0, dim.step - 1))
    return found


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """output[low + (interior + 1) * d] for data; every other element, as ranges, for the padding value."""
    dims = padded_dims(instruction)
    if operand == 0:
        results = [d * dim.step + dim.low for d, dim in zip(dim_exprs(len(dims)), dims, strict=True)]
        data = single_map([dim.kept for dim in dims], results)
        return [over_approximate(data) if _ends_vary(instruction) else data]
    if _ends_vary(instruction):
        return [over_approximate(map_to_all((), instruction.shape))]
    indices = range_exprs(len(dims))
    return [outside((), indices, _conditions(dims, indices), ranges=instruction.shape)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Insert interior padding, then extend or cut both ends."""
    data, value = operands
    return padded(data, range(data.ndim), instruction.attributes["padding"], value)


register_moving("pad", output_to_input, input_to_output, evaluate)
