"""Collective operations: the devices of a group exchange arrays.

A transfer maps element d at position p of a group to its peer, the element and the position it corresponds to in the
same group.  Sections AllReduce, AllGather, ReduceScatter, AllToAll and CollectivePermute of XLA's operation
semantics, and collective_broadcast and collective_reduce of StableHLO's.
"""

from __future__ import annotations

from ..._core import Instruction
from ...types import ShapeIndex
from .._evaluation import Evaluate
from .._indexing.collectives import Transfer, TransferOf, collective_rules
from .._operations import Cost, applied, combined, moves_elements
from .._registry import register
from .._rule import CollectiveRule, InPlace, OpRule, nothing_in_place
from . import in_place
from .evaluate import (
    all_gather,
    all_reduce,
    all_to_all,
    collective_broadcast,
    collective_permute,
    collective_reduce,
    reduce_scatter,
)
from .indexing import (
    between_positions,
    broadcast_to_input,
    broadcast_to_output,
    part_to_whole,
    parts_to_input,
    parts_to_output,
    reduce_to_input,
    reduce_to_output,
    same_everywhere,
    same_position,
    whole_to_part,
)


def _register(
    opcode: str,
    to_input: Transfer | TransferOf,
    to_output: Transfer | TransferOf,
    evaluate: Evaluate,
    methods: tuple[str, ...] = (),
    of_scalars: Transfer | None = None,
    operations: Cost = moves_elements,
    hands_on: bool = False,
) -> None:
    rules = collective_rules(opcode, to_input, to_output, of_scalars)
    register(
        OpRule(
            opcode,
            rules.output_to_input,
            rules.input_to_output,
            evaluate,
            has_side_effect=True,
            builder_methods=methods,
            collective=rules.collective,
            operations=operations,
            in_place=_bound if hands_on else nothing_in_place,
        )
    )


def _bound(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    """The operands that the start of an operation hands on beside its result."""
    n = len(instruction.operands)
    return {(0,) if n == 1 else (0, k): InPlace(k, replaces=False) for k in range(n)}


_register(
    "all-reduce", same_everywhere, same_everywhere, all_reduce, ("all_reduce", "cross_replica_sum"), operations=applied
)
_register("all-reduce-start", same_everywhere, same_everywhere, all_reduce, operations=applied)
_register("all-gather", whole_to_part, part_to_whole, all_gather, of_scalars=same_position)
_register("all-gather-start", whole_to_part, part_to_whole, all_gather, of_scalars=same_position, hands_on=True)
_register(
    "reduce-scatter", part_to_whole, whole_to_part, reduce_scatter, of_scalars=same_everywhere, operations=combined
)
_register("all-to-all", parts_to_input, parts_to_output, all_to_all)
_register("collective-broadcast", broadcast_to_input, broadcast_to_output, collective_broadcast)
_register("collective-reduce", reduce_to_input, reduce_to_output, collective_reduce, operations=applied)


def _register_permute(opcode: str) -> None:
    """A permutation of whole arrays, whose groups are its pairs of a source and a target, or of slices in place."""
    whole = collective_rules(opcode, between_positions(1, 0), between_positions(0, 1))
    register(
        OpRule(
            opcode,
            lambda i, leaf, context: (
                in_place.output_to_input(i, leaf, on_devices=False)
                if in_place.is_in_place(i)
                else whole.output_to_input(i, leaf, context)
            ),
            lambda i, operand, leaf, context: (
                in_place.input_to_output(i, operand, leaf, on_devices=False)
                if in_place.is_in_place(i)
                else whole.input_to_output(i, operand, leaf, context)
            ),
            collective_permute,
            has_side_effect=True,
            surroundings=in_place.surroundings,
            operations=moves_elements,
            in_place=_bound if opcode.endswith("-start") else nothing_in_place,
            collective=CollectiveRule(
                lambda i: in_place.groups(i) if in_place.is_in_place(i) else whole.collective.groups(i),
                lambda i, leaf: (
                    in_place.output_to_input(i, leaf, on_devices=True)
                    if in_place.is_in_place(i)
                    else whole.collective.output_to_input(i, leaf)
                ),
                lambda i, operand, leaf: (
                    in_place.input_to_output(i, operand, leaf, on_devices=True)
                    if in_place.is_in_place(i)
                    else whole.collective.input_to_output(i, operand, leaf)
                ),
            ),
        )
    )


_register_permute("collective-permute")
_register_permute("collective-permute-start")
