"""The indexing rule of rng."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.maps import map_to_all
from .._rule import Footprint, RuleContext, RuleResult
from .._shapes import require, shape_at


def read_all(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every operand whole: the bounds of a distribution, or the state."""
    if instruction.opcode == "rng-bit-generator":
        require(instruction.shape.is_tuple, "a new state and bits")
    sizes = shape_at(instruction.shape, leaf).dimensions
    return [_whole(sizes, operand.shape.dimensions, leaf) for operand in instruction.operands]


def reach_all(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    source = instruction.operands[operand].shape.dimensions
    if not instruction.shape.is_tuple:
        return [map_to_all(source, instruction.shape.dimensions)]
    outputs = instruction.shape.tuple_shapes
    return [_whole(source, part.dimensions, (i,)).at((i,)) for i, part in enumerate(outputs)]


def _whole(source: Sequence[int], target: Sequence[int], output: ShapeIndex) -> Footprint:
    everything = map_to_all(source, target)
    if output != (0,):
        return everything
    return Footprint(everything.maps, False, "which parts of the state a new state needs depends on the algorithm")
