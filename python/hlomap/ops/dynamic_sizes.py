"""get-dimension-size, set-dimension-size, dynamic-reshape: arrays of which a part is in use, the rest is not there.

The executor has such an array at the size that is in use, so every operation on it sees that part alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._digits import reindexed
from ._maps import dim_exprs, full, reaches_nothing, reads, reads_all, reads_nothing, reads_same_place, reads_scalar
from ._op import Answer, Context, Footprint, Leaf, Op, Part, register
from ._shapes import agree, n_elements
from .meaning.dynamic_sizes import reshaped, resized, size_in_use


def _set_output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The same place, and the size."""
    sizes = instruction.shape.dimensions
    agree(instruction.operands[0].shape.dimensions, sizes, "an operand")
    return [reads_same_place(sizes), reads_scalar(sizes)]


def _set_input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same place; the size reaches everything."""
    sizes = instruction.shape.dimensions
    return [reads_all((), sizes) if operand == 1 else reads_same_place(sizes)]


def _between(source: Sequence[int], target: Sequence[int]) -> Part:
    """From target to source.  Of rows in use a later row begins earlier than at the bounds, so any may be meant."""
    rows = (sum(size != 1 for size in sizes) > 1 for sizes in (source, target))
    if n_elements(source) == n_elements(target) and not any(rows):
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
    return [_between(sizes, instruction.operands[0].shape.dimensions)]


register(Op("get-dimension-size", reads_nothing, reaches_nothing, size_in_use))
register(Op("set-dimension-size", _set_output_to_input, _set_input_to_output, resized))
register(Op("dynamic-reshape", _reshape_output_to_input, _reshape_input_to_output, reshaped))
