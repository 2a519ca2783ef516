"""infeed, outfeed, send and recv: queues of the host, and mail between devices."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

import numpy as np

from ..._core import Instruction, Shape
from ...dtypes import numpy_dtype
from ...errors import ShapeError, UnsupportedError
from .._evaluation import EvalContext, Steps, Value
from .._numpy.input_checks import check_value

_PAIRS = "_xla_send_recv_source_target_pairs"


def infeed(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    shape = instruction.shape.tuple_shapes[0]
    feeds, number = context.grid.infeed, context.device.number
    try:
        given = next(feeds[number])
    except (IndexError, StopIteration):
        raise UnsupportedError(f"the infeed of device {number} is empty: give it another {shape}") from None
    return (check_value(given, shape, "what the infeed takes"), None)


def outfeed(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    if context.grid.outfeed is not None:
        several = context.grid.n_replicas * context.grid.n_partitions > 1
        context.grid.outfeed.append((context.device.number, operands[0]) if several else operands[0])
    return None


def _is_for_host(instruction: Instruction) -> bool:
    return bool(instruction.attributes.get("is_host_transfer"))


def _pairs(instruction: Instruction) -> list[tuple[int, int]] | None:
    """Source and target ids, where the text has them."""
    text = (instruction.attributes.get("frontend_attributes") or {}).get(_PAIRS)
    return None if text is None else [(int(a), int(b)) for a, b in re.findall(r"\{\s*(\d+)\s*,\s*(\d+)\s*\}", text)]


def _id(context: EvalContext) -> int:
    """Transfers are between the partitions of a replica, or between replicas where there is one partition."""
    return context.device.partition if context.grid.n_partitions > 1 else context.device.replica


def _other(instruction: Instruction, context: EvalContext, side: int) -> int | None:
    """The number of the device that a transfer goes to (side 1) or comes from (side 0), None where there is none."""
    pairs, own, grid = _pairs(instruction), _id(context), context.grid
    if pairs is None:
        if grid.n_replicas * grid.n_partitions > 1 and not _senders(instruction):
            raise UnsupportedError(f"a transfer between devices without {_PAIRS}")
        pairs = _senders(instruction) or [(own, own)]
    found = next((pair[side] for pair in pairs if pair[1 - side] == own), None)
    if found is None:
        return None
    count = grid.n_partitions if grid.n_partitions > 1 else grid.n_replicas
    if found >= count:
        raise ShapeError(f"a transfer with device {found} of {count}")
    return context.device.number + found - own if grid.n_partitions > 1 else found


def _senders(instruction: Instruction) -> list[tuple[int, int]]:
    """The pairs of the other half of a channel: only one of the two needs to have them."""
    channel = instruction.attributes.get("channel_id")
    for other in instruction.computation.instructions:
        if other.opcode in ("send", "recv") and other.attributes.get("channel_id") == channel:
            pairs = _pairs(other)
            if pairs:
                return pairs
    return []


def _channel(instruction: Instruction, context: EvalContext, source: int, target: int) -> deque[Value]:
    channel = int(instruction.attributes.get("channel_id") or 0)
    return context.grid.channels.setdefault((channel, source, target), deque())


def send(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    if _is_for_host(instruction):
        context.grid.sent.setdefault(int(instruction.attributes.get("channel_id") or 0), []).append(operands[0])
    else:
        target = _other(instruction, context, 1)
        if target is not None:
            _channel(instruction, context, context.device.number, target).append(operands[0])
    return (operands[0], np.zeros((), np.uint32), None)


def recv(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Steps:
    """What was sent first of what is not yet received; zeros where nobody sends to this device."""
    shape = instruction.shape.tuple_shapes[0]
    if _is_for_host(instruction):
        channel = int(instruction.attributes.get("channel_id") or 0)
        try:
            given = next(context.grid.received[channel])
        except (KeyError, StopIteration):
            raise UnsupportedError(f"nothing to receive on channel {channel}: give it another {shape}") from None
        return (check_value(given, shape, "what is received"), np.zeros((), np.uint32), None)
    source = _other(instruction, context, 0)
    if source is None:
        return (_zeros(shape), np.zeros((), np.uint32), None)
    mail = _channel(instruction, context, source, context.device.number)
    if not mail:
        yield context.wait(lambda: bool(mail))
    return (check_value(mail.popleft(), shape, "what is received"), np.zeros((), np.uint32), None)


def _zeros(shape: Shape) -> Value:
    if shape.is_tuple:
        return tuple(_zeros(part) for part in shape.tuple_shapes)
    return np.zeros(shape.dimensions, numpy_dtype(shape.dtype)) if shape.is_array else None
