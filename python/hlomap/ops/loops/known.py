"""Known values that a loop carries: those that every iteration hands on are as they were before the loop."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from .._known import UNKNOWN, Known, KnownContext, Parts, converted
from .attributes import condition_and_body


def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """The carried arrays after the loop."""
    return _carried(instruction, operands[0], converted(instruction, operands))


def known_parameter(caller: Instruction, operands: Sequence[Known]) -> Known:
    """The carried arrays at the beginning of any iteration; those that change are finite by assumption."""
    return _carried(caller, operands[0], UNKNOWN)


def _carried(loop: Instruction, before: Known, changed: Known) -> Known:
    _, body = condition_and_body(loop)
    if not isinstance(before, Parts):
        return changed
    return Parts([own if body._forwards((i,)) else changed for i, own in enumerate(before)])
