"""The indexing rule of collectives."""

from __future__ import annotations

from ..._core import Expr, Instruction
from .._indexing.collectives import ALL_POSITIONS, ElementOnDevice, Peer, Transfer
from .._indexing.maps import dim_exprs


@Transfer
def same_everywhere(ends: ElementOnDevice) -> Peer:
    """all-reduce: the same element of each device."""
    return Peer(dim_exprs(ends.rank), ALL_POSITIONS)


@Transfer.cutting("here")
def whole_to_part(ends: ElementOnDevice) -> Peer:
    """Element d of the whole is d mod size of part d div size."""
    return Peer(ends.replaced(ends.cut % ends.size), ends.cut // ends.size)


@Transfer.cutting("there")
def part_to_whole(ends: ElementOnDevice) -> Peer:
    """Element d of part p is d + p * size of the whole, which each device has."""
    return Peer(ends.replaced(ends.cut + ends.position * ends.size), ALL_POSITIONS)


@Transfer.cutting("both")
def crossed(ends: ElementOnDevice) -> Peer:
    """OperandIndexing q at position p is part p at position q."""
    return Peer(ends.replaced(ends.cut % ends.size + ends.position * ends.size), ends.cut // ends.size)


def at(position: int, other: int | None) -> Transfer:
    """The same element, of one position alone, at another one, or at each."""
    to = ALL_POSITIONS if other is None else Expr.constant(other)
    return Transfer(lambda ends: Peer(dim_exprs(ends.rank), to, (position, position)))


@Transfer
def first(ends: ElementOnDevice) -> Peer:
    """collective-broadcast: the same element at the first position."""
    return Peer(dim_exprs(ends.rank), Expr.constant(0))


def parts_to_input(instruction: Instruction, result: int, operand: int) -> Transfer | None:
    """all-to-all of a tuple: result j at position k is operand k at position j."""
    return at(operand, result) if instruction.shape.is_tuple else crossed


def parts_to_output(instruction: Instruction, result: int, operand: int) -> Transfer | None:
    return at(result, operand) if instruction.shape.is_tuple else crossed
