"""Which devices work together in a collective operation.

Read :func:`group_of` first for the executor, :func:`table_of` for maps.  Devices are numbered
``replica * n_partitions + partition``.  What the ids in the groups name depends on the operation: replicas, partitions,
or device numbers (:func:`_across`).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from .._core import Instruction
from ..errors import ShapeError
from ..maps.device_groups import MANY, GroupTable
from ..types import Unknown
from ._evaluation import Device, DeviceGrid, EvalContext
from ._shapes import must

# Their groups name replicas even where they have a channel, and then take all partitions of those.
REDUCING = {"all-reduce", "all-gather", "reduce-scatter"}


def key_of(instruction: Instruction) -> Hashable:
    """Where devices meet: the channel, else the instruction."""
    channel = instruction.attributes.get("channel_id")
    opcode = instruction.opcode.removesuffix("-start")
    return (opcode, -1, instruction.number) if channel is None else (opcode, int(channel), -1)


def listed_groups(instruction: Instruction) -> list[tuple[int, ...]]:
    """The groups as they are written; none where all devices are one group."""
    groups = instruction.attributes.get("replica_groups")
    return [] if groups is None else [tuple(group) for group in groups if len(group)]


def group_sizes(instruction: Instruction) -> set[int]:
    """The sizes of the groups, where the instruction alone says them."""
    if _across(instruction) == "both":
        return set()
    size = getattr(instruction.attributes.get("replica_groups"), "group_size", None)
    return {size} if size else {len(group) for group in listed_groups(instruction)}


def first_of(n: int) -> Sequence[int]:
    """The ids from 0 on; of many, not one by one."""
    return tuple(range(n)) if n <= MANY else range(n)


def table_of(instruction: Instruction, n: int | None = None) -> GroupTable | Unknown:
    """The table of groups, each of ``n`` devices where that is known; not known where only the run would say it."""
    across, attributes = _across(instruction), instruction.module.attributes
    replicas, partitions = attributes.get("replica_count"), attributes.get("num_partitions")
    written = instruction.attributes.get("replica_groups")
    alike = getattr(written, "group_size", None)
    groups: Sequence[Sequence[int]] = written if alike else listed_groups(instruction)
    if across == "both":
        size = alike or (len(groups[0]) if groups else replicas)
        partitions = partitions if partitions is not None or not size else n // size if n else None
        if partitions is None or not size:
            return Unknown("the groups take all partitions, and nothing says how many there are")
        ids: Sequence[Sequence[int]] = groups if len(groups) else [first_of(size)]
        if GroupTable("", ids).n_listed * partitions > MANY:
            return Unknown(f"groups of more than {MANY} devices that take all partitions")
        groups = [tuple(i * partitions + p for i in group for p in range(partitions)) for group in ids]
    elif not len(groups):
        count = partitions if across == "partitions" else replicas if across == "replicas" else None
        count = n if n is not None else count
        if count is None:
            return Unknown("all devices are one group, and nothing says how many there are")
        groups = [first_of(count)]
    return GroupTable("device" if across in ("both", "numbers") else across.removesuffix("s"), groups)


def pairs_of(instruction: Instruction) -> GroupTable:
    """The groups of a permutation: of each pair the source, then the target."""
    pairs = [(int(a), int(b)) for a, b in instruction.attributes["source_target_pairs"]]
    return GroupTable(_across(instruction).removesuffix("s"), pairs)


def group_of(instruction: Instruction, run: EvalContext) -> list[int] | None:
    """The numbers of the devices in this device's group, in order; None where it is in none."""
    grid, device = run.grid, run.device
    groups = listed_groups(instruction)
    across = _across(instruction)
    if not groups:
        groups = [tuple(range(_counts(across, grid)))]
    _must_fit(groups, instruction, grid)
    own = {"replicas": device.replica, "both": device.replica, "partitions": device.partition}.get(
        across, device.number
    )
    found = [group for group in groups if own in group]
    if len(found) > 1:
        raise ShapeError(f"device {device.number} is in several groups: {groups}")
    return _numbers(found[0], across, device, grid) if found else None


def n_devices(grid: DeviceGrid) -> int:
    return grid.n_replicas * grid.n_partitions


def numbered(instruction: Instruction, ids: Sequence[int], run: EvalContext) -> list[int]:
    """The device numbers of single ids, as a permutation or a transfer has them."""
    across = _across(instruction)
    _must_fit([tuple(ids)], instruction, run.grid)
    return _numbers(ids, across, run.device, run.grid)


def own_id(instruction: Instruction, run: EvalContext) -> int:
    """The id that this device has in a permutation or a transfer."""
    return run.device.partition if _across(instruction) == "partitions" else run.device.replica


def everyone(instruction: Instruction, run: EvalContext) -> list[int]:
    """All devices that a permutation may join with this one."""
    partitions = _across(instruction) == "partitions"
    count = run.grid.n_partitions if partitions else run.grid.n_replicas
    return _numbers(range(count), "partitions" if partitions else "replicas", run.device, run.grid)


def _across(instruction: Instruction) -> str:
    """What ids name: replicas (of the same partition), partitions (of the same replica), both, or device numbers."""
    has_channel = instruction.attributes.get("channel_id") is not None
    if instruction.opcode.removesuffix("-start") in REDUCING:
        if instruction.attributes.get("use_global_device_ids"):
            return "numbers"
        return "both" if has_channel else "replicas"
    return "partitions" if has_channel else "replicas"


def _numbers(ids: Sequence[int], across: str, device: Device, grid: DeviceGrid) -> list[int]:
    if across == "replicas":
        return [replica * grid.n_partitions + device.partition for replica in ids]
    if across == "partitions":
        return [device.replica * grid.n_partitions + partition for partition in ids]
    if across == "both":
        return [replica * grid.n_partitions + p for replica in ids for p in range(grid.n_partitions)]
    return list(ids)


def _counts(across: str, grid: DeviceGrid) -> int:
    if across == "partitions":
        return grid.n_partitions
    return n_devices(grid) if across == "numbers" else grid.n_replicas


def _must_fit(groups: Sequence[Sequence[int]], instruction: Instruction, grid: DeviceGrid) -> None:
    across = _across(instruction)
    count = _counts(across, grid)
    highest = max((i for group in groups for i in group), default=-1)
    if highest >= count or min((i for group in groups for i in group), default=0) < 0:
        what, option = {
            "partitions": ("partition", "num_partitions"),
            "numbers": ("device", "num_replicas * num_partitions"),
        }.get(across, ("replica", "num_replicas"))
        wanted = f"{option} of {highest + 1} or more" if highest >= count else "ids from 0"
        raise ShapeError(f"{what} {highest} is in its groups, there are {count}: run it with {wanted}")


def along_of(instruction: Instruction, rank: int) -> int:
    """The one dimension that is cut or put together."""
    (along,) = instruction.attributes["dimensions"]
    must(0 <= along < rank, f"dimension {along} of {rank}")
    return int(along)


def own_group(instruction: Instruction, run: EvalContext) -> list[int]:
    group = group_of(instruction, run)
    if group is None:
        raise ShapeError(f"device {run.device.number} is in none of the groups {listed_groups(instruction)}")
    return group
