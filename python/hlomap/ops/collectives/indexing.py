"""The indexing rule of collectives."""

from __future__ import annotations

from ..._core import Expr, Instruction
from .._indexing.collectives import EACH, Ends, Law, There
from .._indexing.maps import dim_exprs


@Law
def same_everywhere(ends: Ends) -> There:
    """all-reduce: the same element of each device."""
    return There(dim_exprs(ends.rank), EACH)


@Law.cutting("here")
def whole_to_part(ends: Ends) -> There:
    """Element d of the whole is d mod size of part d div size."""
    return There(ends.replaced(ends.cut % ends.size), ends.cut // ends.size)


@Law.cutting("there")
def part_to_whole(ends: Ends) -> There:
    """Element d of part p is d + p * size of the whole, which each device has."""
    return There(ends.replaced(ends.cut + ends.position * ends.size), EACH)


@Law.cutting("both")
def crossed(ends: Ends) -> There:
    """OperandIndexing q at position p is part p at position q."""
    return There(ends.replaced(ends.cut % ends.size + ends.position * ends.size), ends.cut // ends.size)


def at(position: int, other: int | None) -> Law:
    """The same element, of one position alone, at another one, or at each."""
    to = EACH if other is None else Expr.constant(other)
    return Law(lambda ends: There(dim_exprs(ends.rank), to, (position, position)))


@Law
def first(ends: Ends) -> There:
    """collective-broadcast: the same element at the first position."""
    return There(dim_exprs(ends.rank), Expr.constant(0))


def parts_to_input(instruction: Instruction, result: int, operand: int) -> Law | None:
    """all-to-all of a tuple: result j at position k is operand k at position j."""
    return at(operand, result) if instruction.shape.is_tuple else crossed


def parts_to_output(instruction: Instruction, result: int, operand: int) -> Law | None:
    return at(result, operand) if instruction.shape.is_tuple else crossed
