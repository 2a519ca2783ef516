"""Arrays that a program computes from constants alone, as XLA computes them.

``OpRule.folds`` gives the elements of a result that are certain: those that every compiler and device computes to the
same bits.  Integers and moved elements are.  Floats are where no operation rounds: then neither the order of a sum, nor a
product that is fused with one, makes a difference.  Nothing else is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .._core import Instruction
from ..dtypes import is_integer
from ..lazy import np
from ._evaluation import Array, EvalContext, Evaluate

MAX_ELEMENTS = 1 << 16
"""Elements of an array that is computed."""


@dataclass(frozen=True, slots=True)
class Folded:
    """An array, and which of its elements are certain; both have the same sizes."""

    value: Array
    known: Array

    @staticmethod
    def of(value: Any, known: Any = True) -> Folded:
        """An array that cannot be written; ``known`` may be a scalar."""
        array = np.asarray(value)
        is_known = np.broadcast_to(np.asarray(known, np.bool_), array.shape)
        array.flags.writeable = False
        return Folded(array, is_known)

    @property
    def is_known(self) -> bool:
        """Whether all elements are certain."""
        return bool(self.known.all())


Fold: TypeAlias = Callable[[Instruction, Sequence[Any], EvalContext], Any]
"""The folded value of an instruction, from those of its operands; None where nothing is certain.

The value of a tuple is a tuple of folded values."""


def by_moving(evaluate: Evaluate, data: Sequence[int] = ()) -> Fold:
    """That of an operation of which every element is one of the operands ``data`` (none: of any operand)."""

    def folded(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
        numbers = data or range(len(operands))
        dtype = instruction.shape.dtype
        if not all(x.is_known for k, x in enumerate(operands) if k not in numbers):
            return None
        is_whole = all(x.is_known for x in operands)
        if not is_whole and any(instruction.operands[k].shape.dtype != dtype for k in numbers):
            return None
        found = evaluate(instruction, [x.value for x in operands], context)
        if is_whole:
            return Folded.of(found)
        marks = [x.known if k in numbers else x.value for k, x in enumerate(operands)]
        return Folded.of(found, evaluate(instruction, marks, context))

    return folded


def on_integers(evaluate: Evaluate, is_certain: Callable[[Instruction], bool] = lambda _: True) -> Fold:
    """That of an operation whose results are certain where all numbers are integers, and the instruction is as given."""

    def folded(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Any:
        if not is_certain(instruction) or not all(x.is_known and has_integers(x.value) for x in operands):
            return None
        found = evaluate(instruction, [x.value for x in operands], context)
        results = found if isinstance(found, tuple) else (found,)
        if not all(has_integers(np.asarray(x)) for x in results):
            return None
        return tuple(map(Folded.of, results)) if isinstance(found, tuple) else Folded.of(found)

    return folded


def by_handing_on(evaluate: Evaluate) -> Fold:
    """That of an operation whose semantics hand on their operands as they are, or elements of tuples."""
    return lambda instruction, operands, context: evaluate(instruction, list(operands), context)


def has_integers(x: Array) -> bool:
    """Whether the elements are integers or truth values."""
    return x.dtype.kind == "b" or is_integer(x.dtype)
