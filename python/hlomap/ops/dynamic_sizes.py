"""get-dimension-size, set-dimension-size, dynamic-reshape: arrays of which a part is in use, the rest is not there.

The executor has such an array at the size that is in use, so every operation on it sees that part alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Instruction
from ._digits import reindexed
from ._maps import dim_exprs, full, reads, reads_all, reads_same_place, reads_scalar
from ._op import NOTHING, Answer, Context, Footprint, Leaf, Op, Part, Run, Value, register
from ._shapes import agree, must, n_elements


def _along(instruction: Instruction) -> int:
    (along,) = instruction.attributes["dimensions"]
    must(0 <= along < instruction.operands[0].shape.rank, f"dimension {along}")
    return int(along)


def _nothing_read(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    return [NOTHING]


def _nothing_reached(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    return [NOTHING]


def _get(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    return np.asarray(operands[0].shape[_along(instruction)], np.int32)


def _set_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The same place, and the size."""
    sizes = instruction.shape.dimensions
    agree(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return [reads_same_place(sizes), reads_scalar(sizes)]


def _set_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same place; the size reaches everything."""
    sizes = instruction.shape.dimensions
    return [reads_all((), sizes) if operand == 1 else reads_same_place(sizes)]


def _set(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """The first elements; zeros where more are asked for than there are."""
    array, along = operands[0], _along(instruction)
    size = int(operands[1])
    bound = instruction.shape.dimensions[along]
    must(0 <= size <= bound, f"a size of {size} where the bound is {bound}")
    if size <= array.shape[along]:
        return array[(slice(None),) * along + (slice(0, size),)]
    return np.pad(array, [(0, size - n if i == along else 0) for i, n in enumerate(array.shape)])


def _between(source: Sequence[int], target: Sequence[int]) -> Part:
    """A reshape at the bounds; other sizes in use put elements elsewhere, so any may be meant."""
    if n_elements(source) == n_elements(target) and sum(size != 1 for size in source) <= 1:
        part = reads(full(target), reindexed(dim_exprs(len(target)), target, source))
        return Footprint(part.maps, False, "sizes are values")
    return Footprint(reads_all(target, source).maps, False, "sizes are values")


def _reshape_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    sizes = instruction.shape.dimensions
    data = _between(instruction.operands[0].shape.dimensions, sizes)
    return [data, *([reads_scalar(sizes)] * (len(instruction.operands) - 1))]


def _reshape_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    sizes = instruction.shape.dimensions
    if operand > 0:
        return [reads_all((), sizes)]
    return [Footprint(reads_all(instruction.operands[0].shape.dimensions, sizes).maps, False, "sizes are values")]


def _reshape(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """The elements in use in the sizes in use."""
    sizes = [int(size) for size in operands[1:]]
    bounds = instruction.shape.dimensions
    must(len(sizes) == len(bounds), f"{len(sizes)} sizes for {len(bounds)} dimensions")
    must(all(0 <= n <= bound for n, bound in zip(sizes, bounds, strict=True)), f"sizes {sizes} in {list(bounds)}")
    must(n_elements(sizes) == operands[0].size, f"{operands[0].size} elements in sizes {sizes}")
    return operands[0].reshape(sizes)


register(Op("get-dimension-size", _nothing_read, _nothing_reached, _get))
register(Op("set-dimension-size", _set_output_to_input, _set_input_to_output, _set))
register(Op("dynamic-reshape", _reshape_output_to_input, _reshape_input_to_output, _reshape))
