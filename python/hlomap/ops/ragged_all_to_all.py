"""ragged-all-to-all: every device sends rows to each device of its group; other rows are those of the output operand.

Elements p * m to p * m + m - 1 of a sender's offsets and sizes are its m messages to position p: the first row of each,
the number of rows, and the row of the output where they go.  Section RaggedAllToAll of XLA's operation semantics.
"""

from __future__ import annotations

from math import prod

from .._core import Expr, Instruction, Variable
from ..base.answers import Unknown
from ..base.lazy import np
from ..maps.device_groups import GroupTable
from ._exchange import Exchange, exchange_in_groups, sent_for_parts
from ._indexing.collectives import device_map, group_sizes, matching_groups, without_devices
from ._indexing.maps import identity_map, map_to_all
from ._numpy.device_groups import own_group, rendezvous_key
from ._op import EvalContext, Maps, Memory, Semantics, ShapeIndex, Steps, Value, Values, register
from ._rule import CollectiveRule, Footprint, OperandIndexing
from ._shapes import INT64_MAX, require

_KEPT = "ragged-all-to-all: the rows that other devices write depend on values"
_MOVED = "ragged-all-to-all: the target of a row depends on the offsets of one device"
_SIZES = "ragged-all-to-all: the receive sizes repeat the send sizes"


def _device_maps(instruction: Instruction, operand: int, table: GroupTable, *, to_output: bool) -> Footprint:
    """Maps with group and position between the output and the input, its offsets, sizes or output offsets."""
    rows, out = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    (numbers,) = instruction.operands[2].shape.dimensions
    source, target = (instruction.operands[operand].shape.dimensions, out)[:: 1 if to_output else -1]
    rank, maps = len(source), []
    for groups, n in table.runs():
        require(numbers % n == 0, f"{numbers} offsets for {n} devices")
        n_messages = numbers // n
        group, position, other, message = Expr.dim(rank), Expr.dim(rank + 1), Expr.range(0), Expr.range(1)
        sender, receiver = (position, other) if to_output else (other, position)
        number = receiver * n_messages + message
        runtime, constraints, ranges = [], [], [(0, n - 1), (0, n_messages - 1)]
        results = [*(Expr.range(2 + i) for i in range(len(target)))]
        if operand == 0:
            index = [number, group, sender]
            bounds = ((2, rows[0]), (3, min(rows[0], out[0])), (4, out[0]))
            runtime = [Variable(None, 0, upper, source=k, element=index) for k, upper in bounds]
            start, count, to = (Expr.runtime(i) for i in range(3))
            moved = Expr.dim(0) - (start if to_output else to)
            results = [moved + (to if to_output else start), *(Expr.dim(i) for i in range(1, rank))]
            constraints = [(moved, 0, rows[0]), (count - moved, 1, rows[0]), (results[0], 0, target[0] - 1)]
        elif to_output:
            ranges += [(0, size - 1) for size in target]
            constraints = [(Expr.dim(0) - number, 0, 0)]
        else:
            results = [number]
        ends = [*results, group, other]
        joint = device_map(source, groups, (0, n - 1), ends, ranges=ranges, runtime=runtime, constraints=constraints)
        maps.append(((), joint.simplify(keep_point_dims=True, drop_unused=True)))
    return Footprint(tuple(maps), crosses_devices=True)


def part(instruction: Instruction, k: int, table: GroupTable | None, *, to_output: bool) -> OperandIndexing:
    """The maps between the output and operand k: with devices if there is a table, else without."""
    sizes = (instruction.operands[k].shape.dimensions, instruction.shape.dimensions)
    source, target = sizes if to_output else sizes[::-1]
    if k in (1, 5):
        stays = identity_map(source) if k == 1 else map_to_all(source, target)
        return Footprint(stays.maps, False, _KEPT if k == 1 else _SIZES)
    if table is not None:
        return _device_maps(instruction, k, table, to_output=to_output)
    by_size = GroupTable("", [range(n) for n in sorted(group_sizes(instruction))])
    if not by_size.groups or not _has_maps(instruction):
        return Footprint(map_to_all(source, target).maps, False, _KEPT, crosses_devices=True)
    part = without_devices(_device_maps(instruction, k, by_size, to_output=to_output), by_size)
    if k or not part.crosses_devices:
        return part
    # Maps without devices cannot tell the sender's offsets from those of this device: forward, any row may be reached;
    # backward, the offsets are read on the device of the input.
    maps = map_to_all(source, target).maps if to_output else part.maps
    return Footprint(maps, False, _MOVED, crosses_devices=True)


def groups(instruction: Instruction) -> GroupTable | Unknown:
    """The table of device groups."""
    return matching_groups(instruction, None) if _has_maps(instruction) else Unknown(_KEPT)


def _has_maps(instruction: Instruction) -> bool:
    """Whether the offsets have rank 1, and sums of them fit in 64 bits."""
    rows, out = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    return instruction.operands[2].shape.rank == 1 and max(rows[:1] + out[:1]) < INT64_MAX // 8


def output_to_input(
    instruction: Instruction, shape_index: ShapeIndex, table: GroupTable | None
) -> dict[int, OperandIndexing]:
    """Rows of the input in the messages to this device, the output operand, and all offsets and sizes."""
    return {k: part(instruction, k, table, to_output=False) for k in range(6)}


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, table: GroupTable | None
) -> dict[int, OperandIndexing]:
    """As :func:`output_to_input`, in the other direction."""
    return {0: part(instruction, operand, table, to_output=True)}


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Copy the rows of every message to this device into a copy of the output operand."""
    group = own_group(instruction, context)
    values = yield context.rendezvous(rendezvous_key(instruction), group, operands)
    own = group.index(context.device.number)
    out = operands[1].copy()
    for rows, _, offsets, sizes, targets, _ in values:
        require(offsets.size % len(group) == 0, f"{offsets.size} offsets for {len(group)} devices")
        n = offsets.size // len(group)
        for k in range(own * n, (own + 1) * n):
            start, count, target = (int(x.reshape(-1)[k]) for x in (offsets, sizes, targets))
            inside = min(start, target, count) >= 0 and start + count <= len(rows) and target + count <= len(out)
            require(inside, f"{count} rows from row {start} to row {target} of {len(out)} are out of range")
            out[target : target + count] = rows[start : start + count]
    return out


def valid_operand(instruction: Instruction, operand: int, context: EvalContext, seed: int) -> Value:
    """Messages that overlap neither at their sender nor at their receiver: each has a slot in both arrays.

    Sizes depend on sender, receiver and message alone, so that the receive sizes repeat the send sizes.
    """
    if operand < 2:
        return None
    group = own_group(instruction, context)
    numbers = np.arange(instruction.operands[operand].shape.n_elements)
    require(numbers.size % len(group) == 0, f"{numbers.size} offsets for {len(group)} devices")
    n = numbers.size // len(group)
    (rows, *_), (out, *_) = instruction.operands[0].shape.dimensions, instruction.shape.dimensions
    room = min(rows, out) // max(1, numbers.size)
    own, (other, message) = group.index(context.device.number), np.divmod(numbers, max(1, n))
    if operand == 2:
        return numbers * room + seed % (rows - numbers.size * room + 1)
    if operand == 4:
        return (own * n + message) * room + seed % (out - numbers.size * room + 1)
    sender, receiver = (other, own) if operand == 5 else (own, other)
    return (seed + sender + 2 * receiver + 3 * message) % (room + 1)


def exchange(instruction: Instruction) -> Exchange | Unknown:
    """Each message to another device has no row, or as many as both arrays have."""
    out, numbers = instruction.shape, instruction.operands[2].shape
    n_rows = min(instruction.operands[0].shape.dimensions[0], out.dimensions[0])
    n_bits = n_rows * prod(out.dimensions[1:]) * out.element_bits * numbers.dimensions[0]
    return exchange_in_groups(instruction, matching_groups(instruction, None), 1, (0, n_bits), sent_for_parts)


_RULE = CollectiveRule(groups, output_to_input, input_to_output)
register(
    "ragged-all-to-all",
    Maps(*_RULE.without_devices(), collective=_RULE),
    Semantics(evaluate, operations="moves"),
    values=Values(valid_operand=valid_operand),
    memory=Memory(exchange=exchange),
)
