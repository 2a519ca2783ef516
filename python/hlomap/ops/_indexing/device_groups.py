"""Tables of the device groups of collective operations, for maps that lead to other devices."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...answers import Unknown
from ...maps.device_groups import MAX_LISTED_DEVICES, GroupTable
from .._attributes import group_mode, listed_groups, source_target_pairs

_IDS = {
    "cross_replica": "replica",
    "cross_partition": "partition",
    "cross_replica_and_partition": "device",
    "flattened_id": "device",
}


def group_sizes(instruction: Instruction) -> set[int]:
    """The sizes of the groups, where the instruction alone determines them."""
    if group_mode(instruction) == "cross_replica_and_partition":
        return set()
    size = getattr(instruction.attributes.get("replica_groups"), "group_size", None)
    return {size} if size else {len(group) for group in listed_groups(instruction)}


def group_table(instruction: Instruction, n: int | None = None) -> GroupTable | Unknown:
    """The table of groups, each of ``n`` devices if given; unknown where only a run determines the groups."""
    mode, attributes = group_mode(instruction), instruction.module.attributes
    replicas, partitions = attributes.get("replica_count"), attributes.get("num_partitions")
    written = instruction.attributes.get("replica_groups")
    group_size = getattr(written, "group_size", None)
    groups: Sequence[Sequence[int]] = written if group_size else listed_groups(instruction)
    if mode == "cross_replica_and_partition":
        size = group_size or (len(groups[0]) if groups else replicas)
        partitions = partitions if partitions is not None or not size else n // size if n else None
        if partitions is None or not size:
            return Unknown("the groups include all partitions, whose number is not known")
        ids: Sequence[Sequence[int]] = groups if len(groups) else [_first_ids(size)]
        if GroupTable("", ids).n_devices * partitions > MAX_LISTED_DEVICES:
            return Unknown(f"groups of more than {MAX_LISTED_DEVICES} devices that include all partitions")
        groups = [tuple(i * partitions + p for i in group for p in range(partitions)) for group in ids]
    elif not len(groups):
        count = {"cross_partition": partitions, "cross_replica": replicas}.get(mode)
        count = n if n is not None else count
        if count is None:
            return Unknown("all devices form one group, and their number is not known")
        groups = [_first_ids(count)]
    return GroupTable(_IDS[mode], groups)


def _first_ids(n: int) -> Sequence[int]:
    """The ids from 0 to n - 1; many of them stay a range."""
    return tuple(range(n)) if n <= MAX_LISTED_DEVICES else range(n)


def n_devices(instruction: Instruction) -> int | None:
    """The number of devices among which a permutation moves values, where the header of the module gives it."""
    attribute = "num_partitions" if group_mode(instruction) == "cross_partition" else "replica_count"
    n: int | None = instruction.module.attributes.get(attribute)
    return n


def pair_table(instruction: Instruction) -> GroupTable:
    """The groups of a permutation: each pair is a group of its source and its target."""
    return GroupTable(_IDS[group_mode(instruction)], source_target_pairs(instruction))
