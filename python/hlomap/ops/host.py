"""infeed, outfeed, send and recv: values from and to queues of the host, and between devices by channel.

A send never waits; a receive waits until a value was sent to it.  ``send-done`` and ``recv-done`` forward the values
(``passthrough.py``).  Sections Infeed, Outfeed, Send and Recv of XLA's operation semantics.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from .._core import Computation, Instruction, Shape
from ..base.answers import Unknown
from ..base.dtypes import numpy_dtype
from ..base.lazy import np
from ..errors import ShapeError, UnsupportedError
from ..hlo.device_counts import device_counts
from ..maps.device_groups import GroupTable
from ._exchange import Exchange, exchange_in_pairs, operand_bits
from ._indexing.maps import forwarding, map_to_scalar, reads_nothing
from ._numpy.input_checks import check_value, owned
from ._op import EvalContext, Maps, Memory, RuleContext, RuleResult, Semantics, ShapeIndex, Steps, Value, register
from ._rule import InPlace
from ._shapes import require, shape_at

_PAIRS = "_xla_send_recv_source_target_pairs"
_PAIR = re.compile(r"\{\s*(\d{1,18})\s*,\s*(\d{1,18})\s*\}")
_LISTED_PAIRS = re.compile(rf"\s*\{{\s*(?:{_PAIR.pattern}\s*,?\s*)*\}}\s*")


def _after_token(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The received data may be an answer to data sent before the token."""
    return {0: map_to_scalar(shape_at(instruction.shape, shape_index))}


def infeed(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The next value of the device's queue."""
    shape = instruction.shape.tuple_shapes[0]
    feeds, number = context.grid.infeed, context.device.number
    try:
        value = next(feeds[number])
    except (IndexError, StopIteration):
        raise UnsupportedError(f"the infeed of device {number} is empty: give it another {shape}") from None
    return (owned(check_value(value, shape, "the infeed value")), None)


def outfeed(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Append the operand to the list of the host, with the device's number if there are several."""
    if context.grid.outfeed is not None:
        several = context.grid.n_replicas * context.grid.n_partitions > 1
        value = owned(operands[0])
        context.grid.outfeed.append((context.device.number, value) if several else value)
    return None


def _is_for_host(instruction: Instruction) -> bool:
    return bool(instruction.attributes.get("is_host_transfer"))


def _pairs(instruction: Instruction) -> list[tuple[int, int]] | None:
    """The pairs of source and target ids; None if the instruction has none."""
    text = (instruction.attributes.get("frontend_attributes") or {}).get(_PAIRS)
    if text is None:
        return None
    require(_LISTED_PAIRS.fullmatch(text) is not None, f"its {_PAIRS} are not pairs")
    return [(int(a), int(b)) for a, b in _PAIR.findall(text)]


def _peer(instruction: Instruction, context: EvalContext, side: int) -> int | None:
    """The number of the device that a transfer goes to (side 1) or comes from (side 0); None if there is none.

    Transfers are between the partitions of a replica, or between replicas if there is one partition.
    """
    pairs, device, grid = _pairs(instruction), context.device, context.grid
    own, count = (device.partition, grid.n_partitions) if grid.n_partitions > 1 else (device.replica, grid.n_replicas)
    if pairs is None:
        pairs = _pairs_of_channel(instruction)
        if grid.n_replicas * grid.n_partitions > 1 and pairs is None:
            raise UnsupportedError(f"a transfer between devices needs {_PAIRS}")
        pairs = [(own, own)] if pairs is None else pairs
    found = next((pair[side] for pair in pairs if pair[1 - side] == own), None)
    if found is None:
        return None
    if found >= count:
        raise ShapeError(f"a transfer with device {found}, there are {count}")
    return device.number + found - own


def _pairs_of_channel(instruction: Instruction) -> list[tuple[int, int]] | None:
    """The pairs of the channel, which only one of its send and recv needs to have."""
    return _pairs_by_channel(instruction.computation).get(instruction.attributes.get("channel_id"))


@lru_cache(maxsize=2)
def _pairs_by_channel(computation: Computation) -> dict[int | None, list[tuple[int, int]]]:
    found: dict[int | None, list[tuple[int, int]]] = {}
    for instruction in computation:
        pairs = _pairs(instruction) if instruction.opcode in ("send", "recv") else None
        if pairs is not None:
            found.setdefault(instruction.attributes.get("channel_id"), pairs)
    return found


def _channel(instruction: Instruction, context: EvalContext, source: int, target: int) -> deque[Value]:
    channel = int(instruction.attributes.get("channel_id") or 0)
    return context.grid.channels.setdefault((channel, source, target), deque())


def send(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Append the operand to the queue of the channel."""
    if _is_for_host(instruction):
        context.grid.sent.setdefault(int(instruction.attributes.get("channel_id") or 0), []).append(owned(operands[0]))
    else:
        target = _peer(instruction, context, 1)
        if target is not None:
            _channel(instruction, context, context.device.number, target).append(operands[0])
    return (operands[0], np.zeros((), np.uint32), None)


def recv(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Steps:
    """The oldest value in the channel; zeros if no device sends to this one."""
    shape = instruction.shape.tuple_shapes[0]
    if _is_for_host(instruction):
        channel = int(instruction.attributes.get("channel_id") or 0)
        try:
            value = next(context.grid.received[channel])
        except (KeyError, StopIteration):
            raise UnsupportedError(f"nothing to receive on channel {channel}: give it another {shape}") from None
        return (owned(check_value(value, shape, "the received value")), np.zeros((), np.uint32), None)
    source = _peer(instruction, context, 0)
    if source is None:
        return (_zeros(shape), np.zeros((), np.uint32), None)
    queue = _channel(instruction, context, source, context.device.number)
    if not queue:
        yield context.wait(lambda: bool(queue))
    return (check_value(queue.popleft(), shape, "the received value"), np.zeros((), np.uint32), None)


def _zeros(shape: Shape) -> Value:
    if shape.is_tuple:
        return tuple(_zeros(part) for part in shape.tuple_shapes)
    return np.zeros(shape.dimensions, numpy_dtype(shape.dtype)) if shape.is_array else None


def _sent(instruction: Instruction) -> Exchange | Unknown | None:
    """The operand, from the source of each pair to its target; nothing where the host receives it."""
    if _is_for_host(instruction):
        return None
    pairs = _pairs(instruction)
    pairs = _pairs_of_channel(instruction) if pairs is None else pairs
    if pairs is None:
        return Unknown(f"the devices of a transfer are not known: it has no {_PAIRS}")
    several = device_counts(instruction.module).grid[1] > 1
    table = GroupTable("partition" if several else "replica", pairs)
    return exchange_in_pairs(instruction, table, 1, operand_bits(instruction, 1))


for _name, _rule, _evaluate in (
    ("infeed", _after_token, infeed),
    ("outfeed", reads_nothing, outfeed),
    ("recv", _after_token, recv),
):
    register(
        _name,
        Maps(_rule, reads_nothing),
        Semantics(_evaluate, operations="moves", builder_methods=(_name, f"{_name}_with_token")),
        memory=Memory(first_state=1 if _name == "recv" else None),
    )
register(
    "send",
    Maps(*forwarding((), (0,))),
    Semantics(send, operations="moves"),
    memory=Memory(exchange=_sent, in_place=lambda instruction: {(0,): InPlace(0, replaces=False)}, first_state=1),
)
