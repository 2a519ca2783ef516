"""Operands, carries and results of a scan."""

from __future__ import annotations

from ..._core import Instruction
from .._shapes import require


def layout(instruction: Instruction) -> tuple[int, int, int, int]:
    """The dimension, the number of inputs, of outputs that are no carries, and of steps."""
    n_carries = int(instruction.attributes["num_carries"])
    (along,) = instruction.attributes["dimensions"]
    n_inputs = len(instruction.operands) - n_carries
    n_outputs = len(instruction.shape.tuple_shapes) - n_carries
    require(n_inputs > 0 and n_outputs >= 0, "an input to go along")
    return int(along), n_inputs, n_outputs, instruction.operands[0].shape.dimensions[along]
