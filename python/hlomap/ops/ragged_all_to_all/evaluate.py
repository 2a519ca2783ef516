"""Semantics of ragged-all-to-all."""

from __future__ import annotations

from ..._core import Instruction
from .._evaluation import EvalContext, Steps, Value
from .._numpy.device_groups import own_group, rendezvous_key
from .._shapes import require


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
