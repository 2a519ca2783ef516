"""Dimension, inputs, outputs and carries of a scan."""

from __future__ import annotations

from typing import NamedTuple

from ..._core import Instruction
from .._shapes import require


class ScanDimensions(NamedTuple):
    """The scanned dimension, the numbers of inputs and of outputs that are not carries, and the number of steps."""

    along: int
    n_inputs: int
    n_outputs: int
    n_steps: int


def scan_dimensions(instruction: Instruction) -> ScanDimensions:
    """The dimensions of a scan, checked."""
    n_carries = int(instruction.attributes["num_carries"])
    (along,) = instruction.attributes["dimensions"]
    n_inputs = len(instruction.operands) - n_carries
    n_outputs = len(instruction.shape.tuple_shapes) - n_carries
    require(n_inputs > 0 and n_outputs >= 0, "expected at least one input that is not a carry")
    return ScanDimensions(int(along), n_inputs, n_outputs, instruction.operands[0].shape.dimensions[along])
