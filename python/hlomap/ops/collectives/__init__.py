"""Collective operations: the devices of a group exchange arrays.

A transfer maps element d at position p of a group to its peer, the element and the position it corresponds to in the
same group.  Sections AllReduce, AllGather, ReduceScatter, AllToAll and CollectivePermute of XLA's operation
semantics, and collective_broadcast and collective_reduce of StableHLO's.
"""

from __future__ import annotations

from typing import Any

from ..._core import Instruction
from ...types import ShapeIndex
from .._evaluation import Evaluate
from .._indexing.collectives import CollectiveIndexing, collective_rules
from .._op import register
from .._operations import Cost, combined
from .._rule import InPlace
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
    opcode: str, rules: CollectiveIndexing, evaluate: Evaluate, operations: Cost = "moves", **traits: Any
) -> None:
    register(opcode, *rules[:2], evaluate, has_side_effect=True, collective=rules[2], operations=operations, **traits)


def _bound(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    """The operands that the start of an operation hands on beside its result."""
    n = len(instruction.operands)
    return {(0,) if n == 1 else (0, k): InPlace(k, replaces=False) for k in range(n)}


_reduced = collective_rules(same_everywhere, same_everywhere)
_register("all-reduce", _reduced, all_reduce, "applied", builder_methods=("all_reduce", "cross_replica_sum"))
_register("all-reduce-start", _reduced, all_reduce, "applied")
_gathered = collective_rules(whole_to_part, part_to_whole, same_position)
_register("all-gather", _gathered, all_gather)
_register("all-gather-start", _gathered, all_gather, in_place=_bound)
_register("reduce-scatter", collective_rules(part_to_whole, whole_to_part, same_everywhere), reduce_scatter, combined)
_register("all-to-all", collective_rules(parts_to_input, parts_to_output), all_to_all)
_register("collective-broadcast", collective_rules(broadcast_to_input, broadcast_to_output), collective_broadcast)
_register("collective-reduce", collective_rules(reduce_to_input, reduce_to_output), collective_reduce, "applied")
# The groups of a permutation are its pairs of a source and a target.
_permuted = in_place.or_in_place(collective_rules(between_positions(1, 0), between_positions(0, 1)))
_register("collective-permute", _permuted, collective_permute, surroundings=in_place.surroundings)
_register(
    "collective-permute-start",
    _permuted,
    collective_permute,
    surroundings=in_place.surroundings,
    in_place=_bound,
)
