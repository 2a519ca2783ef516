"""Indexing rules of rng and rng-bit-generator."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...types import ShapeIndex
from .._indexing.maps import map_to_all
from .._rule import Footprint, RuleContext, RuleResult
from .._shapes import require, shape_at


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """All elements of every operand: the parameters of the distribution, or the state."""
    if instruction.opcode == "rng-bit-generator":
        require(instruction.shape.is_tuple, "expected a tuple of new state and bits")
    sizes = shape_at(instruction.shape, leaf).dimensions
    return [_map_whole(sizes, operand.shape.dimensions, leaf) for operand in instruction.operands]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every element of every output."""
    source = instruction.operands[operand].shape.dimensions
    if not instruction.shape.is_tuple:
        return [map_to_all(source, instruction.shape.dimensions)]
    outputs = instruction.shape.tuple_shapes
    return [_map_whole(source, part.dimensions, (i,)).at((i,)) for i, part in enumerate(outputs)]


def _map_whole(source: Sequence[int], target: Sequence[int], output: ShapeIndex) -> Footprint:
    everything = map_to_all(source, target)
    if output != (0,):
        return everything
    return Footprint(
        everything.maps, False, "the parts of the state that the new state depends on are specific to the algorithm"
    )
