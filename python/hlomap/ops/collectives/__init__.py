"""Operations in which the devices of a group exchange arrays.

A law says, for element d at position p of a group, which element at which position belongs to it; the group stays.
"""

from __future__ import annotations

from .._evaluation import Evaluate
from .._indexing.collectives import Transfer, TransferOf, collective_rules
from .._registry import register
from .._rule import OpRule
from .evaluate import all_gather, all_reduce, all_to_all, broadcast, permute, reduce_scatter
from .indexing import at, first, part_to_whole, parts_to_input, parts_to_output, same_everywhere, whole_to_part


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
_register("collective-permute", at(1, 0), at(0, 1), permute)
_register("collective-permute-start", at(1, 0), at(0, 1), permute)
_register("collective-broadcast", first, at(0, None), broadcast)
