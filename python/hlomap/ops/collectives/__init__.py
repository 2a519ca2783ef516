"""Operations in which the devices of a group exchange arrays.

A law says, for element d at position p of a group, which element at which position belongs to it; the group stays.
"""

from __future__ import annotations

from .._indexing.collectives import register_collective
from .evaluate import all_gather, all_reduce, all_to_all, broadcast, permute, reduce_scatter
from .indexing import at, first, part_to_whole, parts_to_input, parts_to_output, same_everywhere, whole_to_part

register_collective("all-reduce", same_everywhere, same_everywhere, all_reduce, ("all_reduce", "cross_replica_sum"))


register_collective("all-reduce-start", same_everywhere, same_everywhere, all_reduce)


register_collective("all-gather", whole_to_part, part_to_whole, all_gather)


register_collective("all-gather-start", whole_to_part, part_to_whole, all_gather)


register_collective("reduce-scatter", part_to_whole, whole_to_part, reduce_scatter)


register_collective("all-to-all", parts_to_input, parts_to_output, all_to_all)


# The groups of a permutation are its pairs, of a source and a target.
register_collective("collective-permute", at(1, 0), at(0, 1), permute)


register_collective("collective-permute-start", at(1, 0), at(0, 1), permute)


register_collective("collective-broadcast", first, at(0, None), broadcast)
