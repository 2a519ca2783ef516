"""Calls between an array and its parts on devices: ``SPMDFullToShardShape``, ``SPMDShardToFullShape`` and the like.

Every device holds a tile of the array; which one depends on the device.  The sizes give the tiles: index i of the array
is index ``i mod size`` of tile ``i floordiv size``.
"""

from __future__ import annotations

from ..._core import Expr, Instruction, Shape
from ...types import ShapeIndex
from .._indexing.maps import single_map
from .._rule import Footprint
from .._shapes import n_outputs, require, shape_at
from .attributes import target_of

_TO_PARTS = {"SPMDFullToShardShape", "xla.sdy.GlobalToLocalShape"}
_TO_WHOLE = {"SPMDShardToFullShape", "xla.sdy.LocalToGlobalShape"}
TARGETS = _TO_PARTS | _TO_WHOLE
"""Targets that change arrays to their parts, or parts to the arrays."""


def changes_shards(instruction: Instruction) -> bool:
    """Whether the call changes arrays to their parts, or parts to the arrays."""
    return target_of(instruction) in TARGETS


def output_to_input(instruction: Instruction, leaf: ShapeIndex) -> dict[int, Footprint]:
    """The element of the operand with the number of the result, on the devices that have it."""
    operand = leaf[0] if leaf else 0
    source, target = _shapes(instruction, operand)
    return {operand: _map(target, source, from_part=target_of(instruction) in _TO_PARTS)}


def input_to_output(instruction: Instruction, operand: int) -> dict[int, Footprint]:
    """The element of the result with the number of the operand, on the devices that have it."""
    found = _map(*_shapes(instruction, operand), from_part=target_of(instruction) in _TO_WHOLE)
    return {operand: found.at((operand,)) if instruction.shape.is_tuple else found}


def _shapes(instruction: Instruction, operand: int) -> tuple[Shape, Shape]:
    """The shapes of an operand and of its result."""
    n = len(instruction.operands)
    require(n == n_outputs(instruction.shape), f"{n} operands for {n_outputs(instruction.shape)} results")
    source = instruction.operands[operand].shape
    target = shape_at(instruction.shape, (operand,) if instruction.shape.is_tuple else ())
    require(source.is_array and target.is_array and source.rank == target.rank, f"{source} becomes {target}")
    return source, target


def _map(source: Shape, target: Shape, *, from_part: bool) -> Footprint:
    """From each element of a part to those of the array that it may be, or the other way."""
    whole, part = (target, source) if from_part else (source, target)
    results: list[Expr] = []
    tiles: list[tuple[int, int]] = []
    constraints: list[tuple[Expr, int, int]] = []
    for k, (n, size) in enumerate(zip(whole.dimensions, part.dimensions, strict=True)):
        require(0 < size <= n or size == n, f"{part} is not a part of {whole}")
        index = Expr.dim(k)
        if size == n:
            results.append(index)
        elif from_part:
            results.append(index + Expr.range(len(tiles)) * size)
            tiles.append((0, (n - 1) // size))
            constraints.append((results[-1], 0, n - 1))
        else:
            results.append(index % size)
    found = single_map(source, results, ranges=tiles, constraints=constraints)
    return Footprint(found.maps, crosses_devices=source.dimensions != target.dimensions)
