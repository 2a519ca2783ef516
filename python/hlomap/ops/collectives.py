"""Operations in which the devices of a group exchange arrays.

A law says, for element d at position p of a group, which element at which position belongs to it; the group stays.
"""

from __future__ import annotations

from .._core import Expr, Instruction
from ._exchange import EACH, Ends, Law, There, register_exchange
from ._maps import dim_exprs
from .meaning.collectives import all_gather, all_reduce, all_to_all, broadcast, permute, reduce_scatter


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
    """Part q at position p is part p at position q."""
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


register_exchange("all-reduce", same_everywhere, same_everywhere, all_reduce, ("all_reduce", "cross_replica_sum"))
register_exchange("all-reduce-start", same_everywhere, same_everywhere, all_reduce)
register_exchange("all-gather", whole_to_part, part_to_whole, all_gather)
register_exchange("all-gather-start", whole_to_part, part_to_whole, all_gather)
register_exchange("reduce-scatter", part_to_whole, whole_to_part, reduce_scatter)
register_exchange("all-to-all", parts_to_input, parts_to_output, all_to_all)
# The groups of a permutation are its pairs, of a source and a target.
register_exchange("collective-permute", at(1, 0), at(0, 1), permute)
register_exchange("collective-permute-start", at(1, 0), at(0, 1), permute)
register_exchange("collective-broadcast", first, at(0, None), broadcast)
