"""Collective operations: the devices of a group exchange arrays.

A transfer maps element d at position p of a group to its peer, the element and the position it corresponds to in the
same group.  Sections AllReduce, AllGather, ReduceScatter, AllToAll and CollectivePermute of XLA's operation
semantics, and collective_broadcast and collective_reduce of StableHLO's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..._core import Computation, Expr, Instruction, Variable
from ...base.types import ShapeIndex
from .._attributes import root_operand
from .._evaluation import Evaluate
from .._exchange import SentInGroup, sent_for_one, sent_for_parts, sent_for_sums, sent_for_whole
from .._indexing.collectives import (
    ALL_POSITIONS,
    ElementOnDevice,
    Peer,
    Transfer,
    TransferOf,
    collective_rules,
    exchange,
)
from .._indexing.maps import dim_exprs
from .._op import Maps, Memory, Semantics, register
from .._operations import Cost, combined, combined_alike
from .._rule import CollectiveRule, ExprLike, InPlace
from . import evaluate, in_place


@Transfer
def same_everywhere(element: ElementOnDevice) -> Peer:
    """all-reduce: the same element on every device."""
    return Peer(dim_exprs(element.rank), ALL_POSITIONS)


@partial(Transfer, split="target")
def whole_to_part(element: ElementOnDevice) -> Peer:
    """Element d of the whole is element d mod part_size of part d div part_size."""
    return Peer(
        element.with_split_index(element.split_index % element.part_size), element.split_index // element.part_size
    )


@partial(Transfer, split="source")
def part_to_whole(element: ElementOnDevice) -> Peer:
    """Element d of part p is element d + p * part_size of the whole, which every device has."""
    return Peer(element.with_split_index(element.split_index + element.position * element.part_size), ALL_POSITIONS)


@partial(Transfer, split="both")
def part_to_part(element: ElementOnDevice) -> Peer:
    """all-to-all: part q at position p is part p at position q."""
    return Peer(
        element.with_split_index(element.split_index % element.part_size + element.position * element.part_size),
        element.split_index // element.part_size,
    )


@Transfer
def same_position(element: ElementOnDevice) -> Peer:
    """A scalar among gathered arrays, which keeps the device's own value."""
    return Peer(dim_exprs(element.rank), element.position)


def between_positions(position: int, other: int | None) -> Transfer:
    """Transfer of the element itself; from one position alone to another one, or to all positions for None."""
    peer_position = ALL_POSITIONS if other is None else Expr.constant(other)
    kind = "to all positions" if other is None else "to one position"
    return Transfer(lambda element: Peer(dim_exprs(element.rank), peer_position, (position, position)), kind=kind)


@Transfer
def first_position(element: ElementOnDevice) -> Peer:
    """The element itself on the first device of the group."""
    return Peer(dim_exprs(element.rank), Expr.constant(0))


def parts_to_input(instruction: Instruction, result: int, operand: int) -> Transfer | None:
    """all-to-all of a tuple: result j at position k is operand k at position j."""
    return between_positions(operand, result) if instruction.shape.is_tuple else part_to_part


def parts_to_output(instruction: Instruction, result: int, operand: int) -> Transfer | None:
    """all-to-all of a tuple, the other way."""
    return between_positions(result, operand) if instruction.shape.is_tuple else part_to_part


def by_root(static: Transfer, peer: Callable[[ElementOnDevice, Callable[[ExprLike], Variable]], Peer]) -> TransferOf:
    """Transfer of the element itself, of the first position or the root of an operand: ``peer`` receives a function
    from a position to a variable, the root on the device there."""

    def transfer(instruction: Instruction, result: int, operand: int) -> Transfer | None:
        roots = root_operand(instruction)
        if result != operand or roots is None:
            return static if result == operand else None

        def dynamic(e: ElementOnDevice) -> Peer:
            def root(position: ExprLike) -> Variable:
                element: list[ExprLike] = [operand, Expr.dim(e.rank), position]
                return Variable(None, 0, e.n_devices - 1, source=roots, element=element)

            return peer(e, root)

        return Transfer(dynamic)

    return transfer


def _if(element: ElementOnDevice, root: Variable, is_at: ExprLike) -> Peer:
    """The element itself on all devices, if a root is at a position."""
    return Peer(dim_exprs(element.rank), ALL_POSITIONS, runtime=[root], constraints=[(Expr.runtime(0) - is_at, 0, 0)])


broadcast_to_input: TransferOf = by_root(
    first_position, lambda e, root: Peer(dim_exprs(e.rank), Expr.runtime(0), runtime=[root(e.position)])
)
broadcast_to_output: TransferOf = by_root(
    between_positions(0, None), lambda e, root: _if(e, root(e.other_position), e.position)
)
reduce_to_input: TransferOf = by_root(between_positions(0, None), lambda e, root: _if(e, root(e.position), e.position))
reduce_to_output: TransferOf = by_root(first_position, lambda e, root: _if(e, root(e.other_position), e.other_position))


def _register(
    opcode: str,
    rule: CollectiveRule,
    sent: SentInGroup,
    semantics: Evaluate,
    operations: Cost = "moves",
    builder_methods: tuple[str, ...] = (),
    memory: Memory = Memory(),  # noqa: B008 (immutable)
) -> None:
    register(
        opcode,
        Maps(*rule.without_devices(), collective=rule),
        Semantics(semantics, operations, builder_methods=builder_methods),
        memory=memory._replace(exchange=partial(exchange, rule, sent)),
    )


def _bound(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    """The operands that a start passes on with its result; a permutation in place replaces slices in the result."""
    n = len(instruction.operands)
    handed_on = {(0,) if n == 1 else (0, k): InPlace(k, replaces=False) for k in range(n)}
    return handed_on | {(1, *index): place for index, place in _replaced(instruction).items()}


def _replaced(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    """The array of operand 1, whose slices a permutation in place replaces."""
    is_array = len(instruction.operands) == 4 and instruction.operands[1].shape.is_array
    return {(): InPlace(1)} if is_array and instruction.attributes.get("slice_sizes") else {}


def _combiner(instruction: Instruction) -> Computation:
    return instruction.called_computations[0]


_STARTED = Memory(in_place=_bound, first_state=2)
_reduced = collective_rules(same_everywhere, same_everywhere)._replace(combiner=_combiner)
_register(
    "all-reduce",
    _reduced,
    sent_for_sums,
    evaluate.all_reduce,
    combined_alike,
    builder_methods=("all_reduce", "cross_replica_sum"),
)
_register("all-reduce-start", _reduced, sent_for_sums, evaluate.all_reduce, combined_alike)
_gathered = collective_rules(whole_to_part, part_to_whole, same_position)
_register("all-gather", _gathered, sent_for_whole, evaluate.all_gather)
_register("all-gather-start", _gathered, sent_for_whole, evaluate.all_gather, memory=_STARTED)
_register(
    "reduce-scatter",
    collective_rules(part_to_whole, whole_to_part, same_everywhere)._replace(combiner=_combiner),
    sent_for_parts,
    evaluate.reduce_scatter,
    combined,
)
_register("all-to-all", collective_rules(parts_to_input, parts_to_output), sent_for_parts, evaluate.all_to_all)
_register(
    "collective-broadcast",
    collective_rules(broadcast_to_input, broadcast_to_output),
    sent_for_one,
    evaluate.collective_broadcast,
)
_register(
    "collective-reduce",
    collective_rules(reduce_to_input, reduce_to_output)._replace(combiner=_combiner),
    sent_for_one,
    evaluate.collective_reduce,
    combined_alike,
)
# The groups of a permutation are its pairs of a source and a target.
_permuted = in_place.or_in_place(collective_rules(between_positions(1, 0), between_positions(0, 1)))
_register("collective-permute", _permuted, sent_for_one, evaluate.collective_permute, memory=Memory(in_place=_replaced))
_register("collective-permute-start", _permuted, sent_for_one, evaluate.collective_permute, memory=_STARTED)
