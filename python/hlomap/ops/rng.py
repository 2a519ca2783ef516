"""Random numbers: rng, whose values nobody specifies; rng-bit-generator, whose bits are; the state of a device."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._maps import reaches_nothing, reads_all, reads_nothing
from ._op import Answer, Context, Footprint, Leaf, Op, register
from ._shapes import must, shape_at
from .meaning.rng import next_state, random_bits, rng


def _read_all(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """Every operand whole: the bounds of a distribution, or the state."""
    if instruction.opcode == "rng-bit-generator":
        must(instruction.shape.is_tuple, "a new state and bits")
    sizes = shape_at(instruction.shape, leaf).dimensions
    return [_whole(sizes, operand.shape.dimensions, leaf) for operand in instruction.operands]


def _reach_all(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    source = instruction.operands[operand].shape.dimensions
    if not instruction.shape.is_tuple:
        return [reads_all(source, instruction.shape.dimensions)]
    outputs = instruction.shape.tuple_shapes
    return [_whole(source, part.dimensions, (i,)).at((i,)) for i, part in enumerate(outputs)]


def _whole(source: Sequence[int], target: Sequence[int], output: Leaf) -> Footprint:
    everything = reads_all(source, target)
    if output != (0,):
        return everything
    return Footprint(everything.maps, False, "which parts of the state a new state needs depends on the algorithm")


register(Op("rng", _read_all, _reach_all, rng, methods=("rng_normal", "rng_uniform")))
register(Op("rng-bit-generator", _read_all, _reach_all, random_bits))
register(Op("rng-get-and-update-state", reads_nothing, reaches_nothing, next_state))
