"""Which devices work together in a collective operation.

Read :func:`group_of` first.  Devices are numbered ``replica * n_partitions + partition``.  What the ids in the groups
name depends on the operation: replicas, partitions, or device numbers (:func:`_named`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .._core import Instruction
from ..errors import ShapeError
from ._op import Device, Run, World

# Their groups name replicas even where they have a channel, and then take all partitions of those.
REDUCING = {"all-reduce", "all-reduce-start", "all-gather", "all-gather-start", "reduce-scatter"}


def key_of(instruction: Instruction) -> Hashable:
    """Where devices meet: the channel, else the instruction."""
    channel = instruction.attributes.get("channel_id")
    opcode = instruction.opcode.removesuffix("-start")
    return (opcode, -1, instruction.number) if channel is None else (opcode, int(channel), -1)


def listed_groups(instruction: Instruction) -> list[tuple[int, ...]]:
    """The groups as they are written; none where all devices are one group."""
    groups = instruction.attributes.get("replica_groups")
    return [] if groups is None else [tuple(group) for group in groups if len(group)]


def group_of(instruction: Instruction, run: Run) -> list[int] | None:
    """The numbers of the devices in this device's group, in order; None where it is in none."""
    world, device = run.world, run.device
    groups = listed_groups(instruction)
    across = _across(instruction)
    if not groups:
        groups = [tuple(range(_counts(across, world)))]
    _must_fit(groups, instruction, world)
    own = {"replicas": device.replica, "both": device.replica, "partitions": device.partition}.get(
        across, device.number
    )
    found = [group for group in groups if own in group]
    if len(found) > 1:
        raise ShapeError(f"device {device.number} is in several groups: {groups}")
    return _numbers(found[0], across, device, world) if found else None


def n_devices(world: World) -> int:
    return world.n_replicas * world.n_partitions


def numbered(instruction: Instruction, ids: Sequence[int], run: Run) -> list[int]:
    """The device numbers of single ids, as a permutation or a transfer has them."""
    across = _across(instruction)
    _must_fit([tuple(ids)], instruction, run.world)
    return _numbers(ids, across, run.device, run.world)


def own_id(instruction: Instruction, run: Run) -> int:
    """The id that this device has in a permutation or a transfer."""
    return run.device.partition if _across(instruction) == "partitions" else run.device.replica


def everyone(instruction: Instruction, run: Run) -> list[int]:
    """All devices that a permutation may join with this one."""
    partitions = _across(instruction) == "partitions"
    count = run.world.n_partitions if partitions else run.world.n_replicas
    return _numbers(range(count), "partitions" if partitions else "replicas", run.device, run.world)


def _across(instruction: Instruction) -> str:
    """What ids name: replicas (of the same partition), partitions (of the same replica), both, or device numbers."""
    has_channel = instruction.attributes.get("channel_id") is not None
    if instruction.opcode in REDUCING:
        if instruction.attributes.get("use_global_device_ids"):
            return "numbers"
        return "both" if has_channel else "replicas"
    return "partitions" if has_channel else "replicas"


def _numbers(ids: Sequence[int], across: str, device: Device, world: World) -> list[int]:
    if across == "replicas":
        return [replica * world.n_partitions + device.partition for replica in ids]
    if across == "partitions":
        return [device.replica * world.n_partitions + partition for partition in ids]
    if across == "both":
        return [replica * world.n_partitions + p for replica in ids for p in range(world.n_partitions)]
    return list(ids)


def _counts(across: str, world: World) -> int:
    if across == "partitions":
        return world.n_partitions
    return n_devices(world) if across == "numbers" else world.n_replicas


def _must_fit(groups: Sequence[Sequence[int]], instruction: Instruction, world: World) -> None:
    across = _across(instruction)
    count = _counts(across, world)
    highest = max((i for group in groups for i in group), default=-1)
    if highest >= count or min((i for group in groups for i in group), default=0) < 0:
        what, option = {
            "partitions": ("partition", "num_partitions"),
            "numbers": ("device", "num_replicas * num_partitions"),
        }.get(across, ("replica", "num_replicas"))
        wanted = f"{option} of {highest + 1} or more" if highest >= count else "ids from 0"
        raise ShapeError(f"{what} {highest} is in its groups, there are {count}: run it with {wanted}")
