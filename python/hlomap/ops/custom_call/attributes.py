"""What a custom call says of itself."""

from __future__ import annotations

from ..._core import Instruction
from .._shapes import same_arrays

ANNOTATIONS = {"Sharding", "xla.sdy.FuncResultSharding", "annotate_device_placement", "MoveToHost", "MoveToDevice"}


def target_of(instruction: Instruction) -> str:
    return str(instruction.attributes.get("custom_call_target", ""))


def is_annotation(instruction: Instruction) -> bool:
    operands = instruction.operands
    return (
        target_of(instruction) in ANNOTATIONS
        and len(operands) == 1
        and same_arrays(operands[0].shape, instruction.shape)
    )
