"""The operation that the steps of an asynchronous operation wrap, and the values that they bind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..._core import Instruction, Shape
from ...errors import UnsupportedError
from ...types import ShapeIndex
from .._shapes import array_leaves, n_outputs, shape_at


class _Wrapped:
    """The wrapped operation as its own rule expects it: the start, with all operands and the shape of the result."""

    def __init__(self, start: Instruction, operands: Sequence[Instruction], shape: Shape) -> None:
        self._start = start
        self.operands = tuple(operands)
        self.shape = shape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._start, name)


def is_done(instruction: Instruction) -> bool:
    """Whether the step is the last one, whose value is the result itself."""
    return instruction.opcode.endswith("-done")


def is_start(instruction: Instruction) -> bool:
    """Whether the step is the first one, which has no step as an operand."""
    return instruction.opcode.endswith("-start")


def result_shape(instruction: Instruction) -> Shape:
    """The shape of the result, as far as it is there at this step."""
    return instruction.shape if is_done(instruction) else shape_at(instruction.shape, (1,))


def bound_operands(instruction: Instruction) -> list[Instruction]:
    """The values that the steps up to this one bind, in the order of the wrapped operation's operands.

    Raises :class:`UnsupportedError` where the start is not known, as in a loop that carries the operation on.
    """
    first, *later = instruction.async_steps
    if not is_start(first):
        raise UnsupportedError(f"the start of {instruction.name} is in another iteration or computation")
    return [*first.operands, *(operand for step in later for operand in step.operands[1:])]


def wrapped_operation(instruction: Instruction) -> Instruction:
    """The operation that runs asynchronously, with the operands that are bound at this step."""
    operands = bound_operands(instruction)
    return cast(Instruction, _Wrapped(instruction.async_steps[0], operands, result_shape(instruction)))


def n_bound_before(instruction: Instruction) -> int:
    """The number of operands that the steps before bind."""
    return 0 if is_start(instruction) else n_outputs(shape_at(instruction.operands[0].shape, (0,)))


def new_results(instruction: Instruction) -> frozenset[ShapeIndex]:
    """The leaves of the result that are not those of the step before: all of them where the step binds operands."""
    own = frozenset(array_leaves(result_shape(instruction)))
    if is_start(instruction) or len(instruction.operands) > 1:
        return own
    return own.difference(array_leaves(shape_at(instruction.operands[0].shape, (1,))))


def is_whole(instruction: Instruction) -> bool:
    """Whether all operands are bound, as far as the next steps tell."""
    while not is_done(instruction):
        following = [user for user in instruction.users if user.async_steps]
        if not following:
            return True
        if len(following[0].operands) > 1:
            return False
        instruction = following[0]
    return True


def bound_value(instruction: Instruction, called: int, parameter: int) -> Instruction | None:
    """The value that any step binds to a parameter of the wrapped computation; None where no step is known to."""
    start = instruction.async_steps[0]
    if not is_start(start):
        return None
    if parameter < len(start.operands):
        return start.operands[parameter]
    for other in start.computation.instructions:
        if other.async_steps[:1] == (start,):
            bound = bound_operands(other)
            if parameter < len(bound):
                return bound[parameter]
    return None
