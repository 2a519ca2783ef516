"""The target of a custom call, and its definition where it is a known library call."""

from __future__ import annotations

from ..._core import Instruction
from .._library.definitions import definition_of
from .._shapes import same_arrays

__all__ = ["ANNOTATIONS", "definition_of", "is_annotation", "target_of"]

ANNOTATIONS = {"Sharding", "xla.sdy.FuncResultSharding", "annotate_device_placement", "MoveToHost", "MoveToDevice"}
"""Targets that return their operand."""


def target_of(instruction: Instruction) -> str:
    """The custom call target, or an empty string."""
    return str(instruction.attributes.get("custom_call_target", ""))


def is_annotation(instruction: Instruction) -> bool:
    """Whether the call annotates its operand and returns it."""
    operands = instruction.operands
    return (
        target_of(instruction) in ANNOTATIONS
        and len(operands) == 1
        and same_arrays(operands[0].shape, instruction.shape)
    )
