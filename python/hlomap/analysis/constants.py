"""Small arrays that a program computes from constants alone, through fusions and calls.

:class:`Constants` computes each array once for each chain of calls; ``Values.folds`` says which elements are certain.
An array that depends on a parameter, is large, or takes much work has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Computation, Instruction
from ..base.lazy import np
from ..errors import HlomapError, UnsupportedError
from ..ops import op_of
from ..ops._evaluation import Array, Device, Value
from ..ops._folding import MAX_ELEMENTS, Folded
from .structure import is_looked_through

_MAX_WORK = 1 << 22
"""The most elements that one operation may visit."""

_MAX_STEPS = 1 << 10
"""The most computations on scalars that one operation may apply."""


class Constants:
    """The values of one program; ``sources`` returns the values that determine an instruction's value in ``calls``.

    An instruction that is a parameter, a fusion or a call has the value of its one source.
    """

    def __init__(
        self,
        sources: Callable[[Instruction, tuple[Instruction, ...]], Sequence[tuple[Instruction, Any]]],
        device: Device | None,
    ) -> None:
        self._sources = sources
        self._device = device
        self._folded: dict[tuple[int, ...], Any] = {}

    def of(self, instruction: Instruction, calls: tuple[Instruction, ...]) -> Any:
        """The folded value of an instruction for one chain of calls; not recursive, since programs are deep."""
        folded = self._folded
        pending = [(instruction, calls, key_of(instruction, calls))]
        while pending:
            at, calls, key = pending[-1]
            if key in folded:
                pending.pop()
                continue
            if not _may_be_known(at) or (calls and calls[-1].inconsistency is not None):
                folded[key] = None
                continue
            sources = [(source, own, key_of(source, own)) for source, own in self._sources(at, calls)]
            # If one source has no value, the others are not needed.
            if any(folded.get(source, 0) is None for _, _, source in sources):
                folded[key] = None
                continue
            waiting = [source for source in sources if source[2] not in folded]
            if waiting:
                pending += waiting
            else:
                folded[key] = self._computed(at, [folded[source] for _, _, source in sources])
        return folded[key_of(instruction, calls)]

    def _computed(self, at: Instruction, values: Sequence[Any]) -> Any:
        if at.parameter_number is not None or is_looked_through(at):
            return values[0] if values else None
        return _fold(at, values, _Evaluation(self._device))


def key_of(at: Instruction, calls: tuple[Instruction, ...]) -> tuple[int, ...]:
    """The numbers of an instruction and of the calls around it."""
    return (at.number, *(call.number for call in calls))


def _may_be_known(at: Instruction) -> bool:
    if at.inconsistency is not None or at.has_unnamed_operands:
        return False
    op = op_of(at)
    if at.parameter_number is not None or is_looked_through(at):
        return True
    shape = at.shape
    return op.values.folds is not None and (shape.is_tuple or (shape.is_array and shape.n_elements <= MAX_ELEMENTS))


def _fold(at: Instruction, values: Sequence[Any], context: _Evaluation) -> Any:
    fold = op_of(at).values.folds
    try:
        return fold(at, values, context) if fold is not None else None  # type: ignore[arg-type]
    except (HlomapError, ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        return None  # it cannot be computed


class _Evaluation:
    """The interpreter for operations on constants: it applies computations on scalars to whole arrays."""

    pointwise: bool = False

    def __init__(self, device: Device | None) -> None:
        self.device = device
        self._n_steps = 0
        self._work = 0

    def count_steps(self, n: int = 1) -> None:
        """Counts computations that are applied."""
        self._n_steps += n
        if self._n_steps > _MAX_STEPS:
            raise UnsupportedError("a constant takes too many steps")

    def count_elements(self, n: int) -> None:
        """Counts elements that are computed without a separate instruction."""
        self._work += n
        if self._work > _MAX_WORK:
            raise UnsupportedError("a constant takes too much work")

    def apply(self, computation: Computation, arguments: Sequence[Array]) -> Value:
        """A computation on scalars, elementwise, if all of its results are certain."""
        self.count_steps()
        sizes = np.broadcast_shapes(*(np.shape(argument) for argument in arguments))
        found: dict[int, Any] = {}
        for at in computation.instructions:
            number = at.parameter_number
            if number is not None:
                found[at.number] = Folded.of(np.array(arguments[number]))
                continue
            if not op_of(at).semantics.pointwise or at.inconsistency is not None:
                raise UnsupportedError(f"{at.opcode} is not applied to constants")
            found[at.number] = _fold(at, [found[operand.number] for operand in at.operands], self)
            if found[at.number] is None:
                raise UnsupportedError(f"{at.opcode} of constants is not certain")
        return _certain(found[computation.root.number], sizes)


def _certain(value: Any, sizes: tuple[int, ...]) -> Value:
    if not isinstance(value, Folded):
        return tuple(_certain(part, sizes) for part in value)
    if not value.is_known:
        raise UnsupportedError("a result is not certain")
    return np.broadcast_to(value.value, sizes)
