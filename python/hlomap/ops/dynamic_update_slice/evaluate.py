"""Semantics of dynamic-update-slice: assignment to a slice, in place where the array has no other user."""

from __future__ import annotations

from ..._core import Instruction
from .._evaluation import EvalContext, Value
from .._numpy.dynamic_offsets import window_slices
from .._numpy.numeric import take_writable


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Value:
    """Clamp the offsets, then assign the update to the slice."""
    data = take_writable(operands, 0)
    data[window_slices(operands[2:], instruction.operands[0].shape.dimensions, operands[1].shape)] = operands[1]
    return data
