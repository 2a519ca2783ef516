"""get-dimension-size, set-dimension-size, dynamic-reshape: arrays with dynamic sizes below their bounds.

The interpreter keeps such an array at its dynamic size, so every operation on it sees the elements in use.  Sections
GetDimensionSize, SetDimensionSize and DynamicReshape of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Instruction
from ..base.lazy import np
from ..errors import UnsupportedError
from ._indexing.maps import inverted, map_to_all, map_to_scalar, reshape_map, rules_by_dims
from ._op import EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._rule import NOTHING, Footprint, OperandIndexing
from ._shapes import require


def _same_element(instruction: Instruction, operand: int, output: int) -> dict[int, int]:
    """The element with the same index; the size affects all of them."""
    return {} if operand else {i: i for i in range(instruction.shape.rank)}


def _map_between(source: Sequence[int], target: Sequence[int]) -> OperandIndexing:
    """From source to target, over-approximate: positions depend on the sizes in use.

    In row-major order of the elements in use, a later row starts earlier than the bounds suggest, so an element may be
    any; only arrays with one dimension longer than 1 keep their order.
    """
    rows = (sum(size != 1 for size in sizes) > 1 for sizes in (source, target))
    if prod(source) == prod(target) and not any(rows):
        return Footprint(reshape_map(source, target).maps, False, "the sizes are values")
    return Footprint(map_to_all(source, target).maps, False, "the sizes are values")


def reshape_output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The data as :func:`_map_between`; every element depends on the sizes."""
    sizes = instruction.shape.dimensions
    data = _map_between(sizes, instruction.operands[0].shape.dimensions)
    return [data, *([map_to_scalar(sizes)] * (len(instruction.operands) - 1))]


def _size_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Nothing of a static dimension, whose size the shape states; of a dynamic one every element.

    What decides a dynamic size decides which elements are in use, so the size is found through the elements.
    """
    operand = instruction.operands[0].shape
    if not operand.dynamic[_along(instruction)]:
        return [NOTHING]
    return [Footprint(map_to_all((), operand.dimensions).maps, False, "the size in use comes with the elements")]


def _along(instruction: Instruction) -> int:
    (along,) = instruction.attributes["dimensions"]
    return int(along)


def get_dimension_size(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The size in use of one dimension."""
    return np.asarray(operands[0].shape[_along(instruction)], np.int32)


def set_dimension_size(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The first ``size`` elements along the dimension.

    In a dynamic dimension those that the operand has not in use are zero until something is written there; XLA shows
    what the operand's buffer holds.  A static array has no such elements.
    """
    array, along = operands[0], _along(instruction)
    size = int(operands[1])
    bound = instruction.shape.dimensions[along]
    require(0 <= size <= bound, f"size {size} is not within the bound {bound}")
    if size > array.shape[along]:
        if not instruction.shape.dynamic[along]:
            raise UnsupportedError(f"{array.shape[along]} elements are in use, {size} are asked for")
        new = (*array.shape[:along], size - array.shape[along], *array.shape[along + 1 :])
        return np.concatenate([array, np.zeros(new, array.dtype)], along)
    return array[(slice(None),) * along + (slice(0, size),)]


def _valid_size(instruction: Instruction, operand: int, context: EvalContext, seed: int) -> Value:
    """A size within the bound."""
    return 1 + seed % max(1, instruction.shape.dimensions[_along(instruction)]) if operand == 1 else None


def _valid_sizes(instruction: Instruction, operand: int, context: EvalContext, seed: int) -> Value:
    """The sizes of all elements."""
    return instruction.shape.dimensions[operand - 1] if operand else None


def dynamic_reshape(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The elements in use, in row-major order, with the given sizes."""
    sizes = [int(size) for size in operands[1:]]
    bounds = instruction.shape.dimensions
    require(
        all(0 <= n <= bound for n, bound in zip(sizes, bounds, strict=True)),
        f"sizes {sizes} are not within the bounds {list(bounds)}",
    )
    require(prod(sizes) == operands[0].size, f"{operands[0].size} elements cannot have sizes {sizes}")
    return operands[0].reshape(sizes)


register(
    "get-dimension-size",
    Maps(_size_to_input, inverted(_size_to_input)),
    Semantics(get_dimension_size, operations="moves"),
)
register(
    "set-dimension-size",
    Maps(*rules_by_dims(_same_element)),
    Semantics(set_dimension_size, operations="moves"),
    values=Values(valid_operand=_valid_size),
)
register(
    "dynamic-reshape",
    Maps(reshape_output_to_input, inverted(reshape_output_to_input)),
    Semantics(dynamic_reshape, operations="moves"),
    values=Values(valid_operand=_valid_sizes),
)
