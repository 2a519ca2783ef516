"""Rules of collective operations from how one element corresponds to its peers on the devices of its group.

The maps without devices lead to an element on some device of the group and depend on the instruction alone.  The table
of groups may depend on the module, so the maps with group and position are created on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Final, Literal, NamedTuple

from ..._core import Expr, IndexingMap, Instruction, Shape, Variable
from ...base.answers import Unknown
from ...base.types import ShapeIndex
from ...hlo.device_counts import device_counts
from ...maps.device_groups import MAX_LISTED_DEVICES, GroupTable
from ...maps.variables import with_variables
from .._attributes import (
    group_mode,
    listed_groups,
    permuted_slices,
    returns_operands,
    root_operand,
    source_target_pairs,
    split_dimension,
)
from .._exchange import Exchange, SentInGroup, exchange_in_groups, exchange_in_pairs, operand_bits
from .._rule import Bounds, CollectiveRule, ExprLike, Footprint, OperandIndexing
from .._shapes import require, require_sizes, shape_at
from .maps import dim_exprs, full_bounds, identity_map, range_exprs, single_map

ALL_POSITIONS: Final = None
"""The position of a peer on every device of the group."""


class Peer(NamedTuple):
    """The element that an element corresponds to: its indices and its position in the group."""

    indices: Sequence[ExprLike]
    position: ExprLike | None
    """``ALL_POSITIONS``: the element with these indices on each device of the group."""
    positions: Bounds | None = None
    """The positions of elements that correspond to any; None for all."""
    runtime: Sequence[Variable] = ()
    """Runtime variables; the index of each ends with the group and position of the device that holds its value."""
    constraints: Sequence[tuple[Expr, int, int]] = ()
    """Which positions correspond to any, by the runtime variables."""


class ElementOnDevice(NamedTuple):
    """An element d at a position of a group of n devices: the rank of its array, the split dimension, the size of a
    part there."""

    rank: int
    along: int
    position: Expr
    part_size: int
    n_devices: int

    @property
    def other_position(self) -> ExprLike:
        """The position of a peer on every device of the group."""
        return Expr.range(0) if self.n_devices > 1 else 0

    @property
    def split_index(self) -> Expr:
        """The index along the split dimension."""
        return Expr.dim(self.along)

    def with_split_index(self, index: Expr) -> list[Expr]:
        """The indices of the element, with another index along the split dimension."""
        indices = [*dim_exprs(self.rank)]
        indices[self.along] = index
        return indices


Split = Literal["source", "target", "both"]


class Transfer(NamedTuple):
    """How elements correspond across the devices of a group: ``peer`` maps an element to its peer.

    ``split``: which side holds one part of the other side's array on each device, the ``source`` of the map or its
    ``target``; ``both``: arrays of both sides consist of as many parts as the group has devices.  Transfers of one
    ``kind`` differ only in positions: without devices their maps are the same.
    """

    peer: Callable[[ElementOnDevice], Peer]
    split: Split | None = None
    kind: str | None = None


TransferOf = Callable[[Instruction, int, int], Transfer | None]
"""The transfer between a result and an operand of an instruction, by their numbers; None if they have no elements in
common."""


def collective_rules(
    to_input: Transfer | TransferOf, to_output: Transfer | TransferOf, of_scalars: Transfer | None = None
) -> CollectiveRule:
    """The rule of an operation whose results correspond to operands by transfers.

    A single :class:`Transfer` relates result k and operand k.  ``of_scalars`` replaces one that splits arrays, in both
    directions, for scalars, which have no parts.
    """
    back, forth = _by_number(to_input), _by_number(to_output)

    def maps_from(
        instruction: Instruction, source: Sequence[int], table: GroupTable | None
    ) -> Callable[[Transfer, Sequence[int]], OperandIndexing]:
        known: dict[object, OperandIndexing] = {}  # maps that are the same are made once, as there may be very many

        def maps(transfer: Transfer, target: Sequence[int]) -> OperandIndexing:
            transfer = of_scalars if of_scalars is not None and not source else transfer
            key = (transfer.kind if table is None else None) or transfer.peer, tuple(target)
            if key not in known:
                known[key] = _transfer_maps(instruction, transfer, source, target, table)
            return known[key]

        return maps

    def backward(
        instruction: Instruction, shape_index: ShapeIndex, table: GroupTable | None
    ) -> dict[int, OperandIndexing]:
        shape, operands = instruction.shape, instruction.operands
        sizes = shape_at(shape, shape_index).dimensions
        result = _result_at(instruction, shape_index)
        if result is None:
            operand = shape_index[1] if shape_index[0] == 0 and len(shape_index) > 1 else 0
            return {operand: identity_map(sizes)} if shape_index[0] == 0 else {}
        maps = maps_from(instruction, sizes, table)
        n, roots = n_data_operands(instruction), root_operand(instruction)
        transfers = ((k, back(instruction, result, k)) for k in range(n))
        parts = {k: maps(t, operands[k].shape.dimensions) for k, t in transfers if t is not None}
        if roots is not None:
            parts[roots] = single_map(sizes, [result])
        return parts

    def forward(
        instruction: Instruction, operand: int, shape_index: ShapeIndex, table: GroupTable | None
    ) -> dict[int, OperandIndexing]:
        shape, n = instruction.shape, n_data_operands(instruction)
        sizes = instruction.operands[operand].shape.dimensions
        if operand == root_operand(instruction):
            return {k: _root_reaches(shape, k) for k in range(n)}
        parts: dict[int, OperandIndexing] = {}
        if returns_operands(instruction):
            parts[0] = identity_map(sizes).at((0, operand) if n > 1 else (0,))
        maps = maps_from(instruction, sizes, table)
        for result in range(n):
            transfer = forth(instruction, result, operand)
            if transfer is not None:
                output = _leaf_of(instruction, result)
                part = maps(transfer, shape_at(shape, output).dimensions)
                parts[output[0] if output else 0] = part if isinstance(part, Unknown) else part.at(output)
        return parts

    def groups(instruction: Instruction) -> GroupTable | Unknown:
        data = instruction.operands[: n_data_operands(instruction)]
        k = next((k for k, operand in enumerate(data) if operand.shape.dimensions), 0)
        return matching_groups(instruction, _group_size_of_shapes(instruction, back(instruction, k, k), k))

    return CollectiveRule(groups, backward, forward)


def exchange(rule: CollectiveRule, sent: SentInGroup, instruction: Instruction) -> Exchange | Unknown:
    """The data that devices send each other, for all operands together; for a permutation in place only the slices.

    ``sent`` gives the amounts that the devices of a group send for the operands of each device.
    """
    slices = permuted_slices(instruction)
    n_operands = 1 if slices else n_data_operands(instruction)
    bits = (0, 0) if slices else operand_bits(instruction, n_operands)
    for s in slices:
        sliced = prod(s.extents) * shape_at(instruction.operands[0].shape, s.buffer).element_bits
        bits = (bits[0] + sliced, bits[1] + sliced)
    if "source_target_pairs" in instruction.attributes:
        return exchange_in_pairs(instruction, pair_table(instruction), n_operands, bits)
    return exchange_in_groups(instruction, rule.groups(instruction), n_operands, bits, sent)


def n_data_operands(instruction: Instruction) -> int:
    """The number of operands that have a result: all but the positions of roots."""
    roots = root_operand(instruction)
    return len(instruction.operands) if roots is None else roots


def _root_reaches(shape: Shape, result: int) -> Footprint:
    """The position of the root of a result affects all of it."""
    output: ShapeIndex = (result,) if shape.is_tuple else ()
    sizes = shape_at(shape, output).dimensions
    return single_map([(result, result)], range_exprs(len(sizes)), ranges=sizes).at(output)


def _by_number(transfer: Transfer | TransferOf) -> TransferOf:
    if isinstance(transfer, Transfer):
        single = transfer
        return lambda instruction, result, operand: single if result == operand else None
    return transfer


def matching_groups(instruction: Instruction, n: int | None) -> GroupTable | Unknown:
    """The table of groups; Unknown unless each group has the ``n`` devices that the shapes imply."""
    if "source_target_pairs" in instruction.attributes:
        return pair_table(instruction)
    table = group_table(instruction, n)
    if isinstance(table, GroupTable) and n is not None and any(size != n for _, size in table.runs()):
        return Unknown(f"the shapes imply groups of {n} devices, the groups have other sizes")
    return table


def _group_size_of_shapes(instruction: Instruction, transfer: Transfer | None, operand: int) -> int | None:
    """The number of devices in a group, equal to the number of parts, if an operand and its result determine it."""
    if (
        instruction.shape.is_tuple
        and (transfer is None or transfer.split is None)
        and instruction.opcode.startswith("all-to")
    ):
        return len(instruction.operands)
    if transfer is None or transfer.split not in ("source", "target"):
        return None
    a = prod(instruction.operands[operand].shape.dimensions)
    output = _leaf_of(instruction, operand)
    b = prod(shape_at(instruction.shape, output).dimensions)
    return max(a, b) // min(a, b) if a and b else None


def _result_at(instruction: Instruction, shape_index: ShapeIndex) -> int | None:
    """The number of the result at a leaf of the output; None for the other elements of an asynchronous start."""
    if returns_operands(instruction):
        if shape_index[0] != 1:
            return None
        shape_index = shape_index[1:]
    return shape_index[0] if shape_index else 0


def _leaf_of(instruction: Instruction, result: int) -> ShapeIndex:
    """The shape index of a result in the output."""
    if returns_operands(instruction):
        return (1, result) if n_data_operands(instruction) > 1 else (1,)
    return (result,) if instruction.shape.is_tuple else ()


# --------------------------------------------------------------------------------------------------------------- maps


def _transfer_maps(
    instruction: Instruction, transfer: Transfer, source: Sequence[int], target: Sequence[int], table: GroupTable | None
) -> OperandIndexing:
    """The maps of a transfer for the groups of a table; without a table, the maps without devices."""
    along, n = _split(instruction, transfer, source, target)
    if table is not None:
        return _device_maps(transfer, source, target, along, table)
    by_size = _groups_by_size(instruction, n)
    if by_size is None and transfer.split == "both":
        any_index = [*dim_exprs(len(source))]
        any_index[along] = Expr.range(0)
        maps = single_map(full_bounds(source), any_index, ranges=[(0, source[along] - 1)]).maps
        return Footprint(maps, False, "the number of devices is not known", crosses_devices=True)
    if by_size is None:
        by_size = GroupTable("", [(0, 1)])
    return without_devices(_device_maps(transfer, source, target, along, by_size, at_runtime=False), by_size)


def _split(
    instruction: Instruction, transfer: Transfer, source: Sequence[int], target: Sequence[int]
) -> tuple[int, int | None]:
    """The split dimension of a transfer, and the number of parts if the shapes determine it."""
    if transfer.split in (None, "both"):
        require_sizes(source, target, "the output")
        return (split_dimension(instruction, len(source)) if transfer.split else 0), None
    whole, part = (source, target) if transfer.split == "target" else (target, source)
    along = split_dimension(instruction, len(whole))
    require(
        part[along] > 0 and whole[along] % part[along] == 0,
        f"{whole[along]} elements cannot be split into parts of {part[along]}",
    )
    require_sizes((*whole[:along], part[along], *whole[along + 1 :]), part, "a part")
    return along, whole[along] // part[along]


def _groups_by_size(instruction: Instruction, n: int | None) -> GroupTable | None:
    """One group of each size that occurs, if the instruction alone determines the sizes."""
    if "source_target_pairs" in instruction.attributes:
        return GroupTable("", [(0, 1)] if instruction.attributes["source_target_pairs"] else [])
    sizes = group_sizes(instruction) if n is None else {n}
    return GroupTable("", [range(size) for size in sorted(sizes)]) if sizes else None


def _device_maps(
    transfer: Transfer,
    source: Sequence[int],
    target: Sequence[int],
    along: int,
    table: GroupTable,
    *,
    at_runtime: bool = True,
) -> Footprint:
    """Maps with group and position, one for each run of groups of one size.

    Positions that depend on values are any position unless ``at_runtime``.
    """
    maps: list[tuple[ShapeIndex, IndexingMap]] = []
    rank = len(source)
    for groups, n in table.runs():
        if transfer.split == "both":
            require(source[along] % n == 0, f"{source[along]} elements cannot be split into {n} parts")
        size = 0 if transfer.split is None else target[along] if transfer.split == "target" else source[along]
        peer = transfer.peer(
            ElementOnDevice(rank, along, Expr.dim(rank + 1), size // n if transfer.split == "both" else size, n)
        )
        if peer.runtime and not at_runtime:
            peer = peer._replace(position=ALL_POSITIONS, runtime=(), constraints=())
        on_all = peer.position is ALL_POSITIONS and n > 1
        position = peer.position if peer.position is not ALL_POSITIONS else Expr.range(0) if on_all else 0
        ends = [*peer.indices, Expr.dim(rank), position]
        m = device_map(
            source,
            groups,
            peer.positions or (0, n - 1),
            ends,
            ranges=[(0, n - 1)] if on_all else [],
            runtime=peer.runtime,
            constraints=peer.constraints,
        )
        maps.append(((), m.simplify(keep_point_dims=True)))
    return Footprint(tuple(maps), crosses_devices=True)


def device_map(
    sizes: Sequence[int],
    groups: Bounds,
    positions: Bounds,
    results: Sequence[ExprLike],
    *,
    ranges: Sequence[Bounds] = (),
    runtime: Sequence[Variable] = (),
    constraints: Sequence[tuple[Expr, int, int]] = (),
) -> IndexingMap:
    """A map from the elements of an array on the devices of some groups; results end with group and position."""
    device: list[tuple[str, int, int]] = [("group", *groups), ("position", *positions)]
    return IndexingMap([*full_bounds(sizes), *device], results, ranges=ranges, runtime=runtime, constraints=constraints)


def without_devices(footprint: Footprint, table: GroupTable) -> Footprint:
    """The maps to the elements on any device of the group; a group of one device exchanges nothing."""
    maps = dict.fromkeys((shape_index, _without_device(m)) for shape_index, m in footprint.maps)
    return Footprint(tuple(maps), crosses_devices=any(n > 1 for _, n in table.runs()))


def _without_device(m: IndexingMap) -> IndexingMap:
    rank, n = len(m.dims) - 2, len(m.ranges)
    dims = [*dim_exprs(rank), Expr.range(n), Expr.range(n + 1)]
    runtime = [Variable(None, v.lower, v.upper, source=v.source, element=v.element[:-2]) for v in m.runtime]
    inner = IndexingMap(m.dims, m.results[:-2], ranges=m.ranges, runtime=runtime, constraints=m.constraints)
    ranges = [(v.lower, v.upper) for v in (*inner.ranges, *inner.dims[rank:])]
    found = with_variables(inner, inner.dims[:rank], ranges, (dims, ()))
    return found.simplify(keep_point_dims=True, drop_unused=True)


# Tables of the device groups.


_IDS = {
    "cross_replica": "replica",
    "cross_partition": "partition",
    "cross_replica_and_partition": "device",
    "flattened_id": "device",
}


def group_sizes(instruction: Instruction) -> set[int]:
    """The sizes of the groups, if the instruction alone determines them."""
    if group_mode(instruction) == "cross_replica_and_partition":
        return set()
    size = getattr(instruction.attributes.get("replica_groups"), "group_size", None)
    return {size} if size else {len(group) for group in listed_groups(instruction)}


def group_table(instruction: Instruction, n: int | None = None) -> GroupTable | Unknown:
    """The table of groups, each of ``n`` devices if given; unknown if only a run determines the groups."""
    mode, (replicas, partitions) = group_mode(instruction), device_counts(instruction.module)
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
        if None not in (n, count) and n != count:
            return Unknown(f"the shapes imply groups of {n} devices, and all {count} form one")
        count = n if n is not None else count
        if count is None:
            return Unknown("all devices form one group, and their number is not known")
        groups = [_first_ids(count)]
    return GroupTable(_IDS[mode], groups)


def _first_ids(n: int) -> Sequence[int]:
    """The ids from 0 to n - 1; many of them stay a range."""
    return tuple(range(n)) if n <= MAX_LISTED_DEVICES else range(n)


def pair_table(instruction: Instruction) -> GroupTable:
    """The groups of a permutation: each pair is a group of its source and its target."""
    return GroupTable(_IDS[group_mode(instruction)], source_target_pairs(instruction))
