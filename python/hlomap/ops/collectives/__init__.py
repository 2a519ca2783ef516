"""Collective operations: the devices of a group exchange arrays.

A transfer maps element d at position p of a group to its peer, the element and the position it corresponds to in the
same group.  Sections AllReduce, AllGather, ReduceScatter, AllToAll and CollectivePermute of XLA's operation
semantics.
"""

from __future__ import annotations

from .._evaluation import Evaluate
from .._indexing.collectives import Transfer, TransferOf, collective_rules
from .._registry import register
from .._rule import OpRule
from .evaluate import all_gather, all_reduce, all_to_all, collective_broadcast, collective_permute, reduce_scatter
from .indexing import (
    between_positions,
    first_position,
    part_to_whole,
    parts_to_input,
    parts_to_output,
    same_everywhere,
    whole_to_part,
)


def _register(
    opcode: str,
    to_input: Transfer | TransferOf,
    to_output: Transfer | TransferOf,
    evaluate: Evaluate,
    methods: tuple[str, ...] = (),
) -> None:
    rules = collective_rules(opcode, to_input, to_output)
    register(
        OpRule(
            opcode,
            rules.output_to_input,
            rules.input_to_output,
            evaluate,
            has_side_effect=True,
            builder_methods=methods,
            collective=rules.collective,
        )
    )


_register("all-reduce", same_everywhere, same_everywhere, all_reduce, ("all_reduce", "cross_replica_sum"))
_register("all-reduce-start", same_everywhere, same_everywhere, all_reduce)
_register("all-gather", whole_to_part, part_to_whole, all_gather)
_register("all-gather-start", whole_to_part, part_to_whole, all_gather)
_register("reduce-scatter", part_to_whole, whole_to_part, reduce_scatter)
_register("all-to-all", parts_to_input, parts_to_output, all_to_all)
# The groups of a permutation are its pairs of a source and a target.
_register("collective-permute", between_positions(1, 0), between_positions(0, 1), collective_permute)
_register("collective-permute-start", between_positions(1, 0), between_positions(0, 1), collective_permute)
_register("collective-broadcast", first_position, between_positions(0, None), collective_broadcast)
