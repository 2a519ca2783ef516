"""The devices that a collective operation joins with a simulated device.

Devices are numbered ``replica * n_partitions + partition``.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ..._core import Instruction
from ...errors import ShapeError
from .._attributes import GroupMode, group_mode, listed_groups
from .._evaluation import Device, DeviceGrid, EvalContext


def rendezvous_key(instruction: Instruction) -> Hashable:
    """The key under which devices exchange values: the channel if there is one, else the instruction."""
    channel = instruction.attributes.get("channel_id")
    opcode = instruction.opcode.removesuffix("-start")
    return (opcode, -1, instruction.number) if channel is None else (opcode, int(channel), -1)


def group_of(instruction: Instruction, context: EvalContext) -> list[int] | None:
    """The numbers of the devices in this device's group, in order; None if it is in none."""
    grid, device = context.grid, context.device
    groups = listed_groups(instruction)
    mode = group_mode(instruction)
    if not groups:
        groups = [tuple(range(_n_ids(mode, grid)))]
    require_ids(instruction, [i for group in groups for i in group], context)
    own = own_id(instruction, context)
    found = [group for group in groups if own in group]
    if len(found) > 1:
        raise ShapeError(f"device {device.number} is in several groups: {groups}")
    return _device_numbers(found[0], mode, device, grid) if found else None


def own_group(instruction: Instruction, context: EvalContext) -> list[int]:
    """As :func:`group_of`; raises :class:`ShapeError` if the device is in no group."""
    group = group_of(instruction, context)
    if group is None:
        raise ShapeError(f"device {context.device.number} is in none of the groups {listed_groups(instruction)}")
    return group


def require_ids(instruction: Instruction, ids: Sequence[int], context: EvalContext) -> None:
    """:class:`ShapeError` unless all ids of groups or pairs name devices of the grid."""
    mode = group_mode(instruction)
    count, highest = _n_ids(mode, context.grid), max(ids, default=-1)
    if highest >= count or min(ids, default=0) < 0:
        what, option = {
            "cross_partition": ("partition", "n_partitions"),
            "flattened_id": ("device", "n_replicas * n_partitions"),
        }.get(mode, ("replica", "n_replicas"))
        wanted = f"{option} of {highest + 1} or more" if highest >= count else "ids from 0"
        raise ShapeError(f"{what} {highest} is in its groups, there are {count}: run it with {wanted}")


def own_id(instruction: Instruction, context: EvalContext) -> int:
    """The id of this device in the groups or pairs of an instruction."""
    mode, device = group_mode(instruction), context.device
    return {"cross_partition": device.partition, "flattened_id": device.number}.get(mode, device.replica)


def permuted_devices(instruction: Instruction, context: EvalContext) -> list[int]:
    """The numbers of all devices between which a permutation may move values of this device."""
    mode = group_mode(instruction)
    return _device_numbers(range(_n_ids(mode, context.grid)), mode, context.device, context.grid)


def _device_numbers(ids: Sequence[int], mode: GroupMode, device: Device, grid: DeviceGrid) -> list[int]:
    if mode == "cross_replica":
        return [replica * grid.n_partitions + device.partition for replica in ids]
    if mode == "cross_partition":
        return [device.replica * grid.n_partitions + partition for partition in ids]
    if mode == "cross_replica_and_partition":
        return [replica * grid.n_partitions + p for replica in ids for p in range(grid.n_partitions)]
    return list(ids)


def _n_ids(mode: GroupMode, grid: DeviceGrid) -> int:
    if mode == "cross_partition":
        return grid.n_partitions
    return grid.n_replicas * grid.n_partitions if mode == "flattened_id" else grid.n_replicas
