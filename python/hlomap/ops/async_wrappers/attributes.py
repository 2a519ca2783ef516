"""The start of an asynchronous operation as the operation itself."""

from __future__ import annotations

from typing import Any, cast

from ..._core import Instruction, Shape
from .._shapes import shape_at


class _WithResultShape:
    """The start of an operation as the operation's own rule expects it: the same instruction, of the result's shape."""

    def __init__(self, instruction: Instruction) -> None:
        self._instruction = instruction
        self.shape: Shape = shape_at(instruction.shape, (1,))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instruction, name)


def as_synchronous(instruction: Instruction) -> Instruction:
    """The start of an operation as an instruction with the shape of its result."""
    return cast(Instruction, _WithResultShape(instruction))
