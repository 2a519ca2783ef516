"""Arrays that a program computes from constants alone, as XLA computes them.

``Values.folds`` gives the elements of a result with their error, which bounds what compilers and devices may compute.
Integers and moved elements are certain.  Floats are certain if no operation rounds: then neither the order of a sum,
nor a product that is fused with one, makes a difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from .._core import Instruction
from ..base.dtypes import is_integer
from ..base.lazy import np
from ._evaluation import Array, EvalContext, Evaluate

MAX_ELEMENTS = 1 << 16
"""Elements of an array that is computed."""

UNCERTAIN = math.inf
"""The error of an element that is only known to be a number."""


class Folded:
    """An array, and by how much each of its elements may differ; both have the same sizes.

    It is not a tuple, which is a value of a program.
    """

    __slots__ = ("error", "value")

    def __init__(self, value: Array, error: Array) -> None:
        self.value = value
        self.error = error

    @staticmethod
    def of(value: Any, error: Any = 0.0) -> Folded:
        """An array that cannot be written; ``error`` may be a scalar."""
        array = np.asarray(value)
        array.flags.writeable = False
        return Folded(array, np.broadcast_to(np.asarray(error, np.float64), array.shape))

    @property
    def is_known(self) -> bool:
        """Whether all elements are certain."""
        return not self.error.any()


Fold: TypeAlias = Callable[[Instruction, Sequence[Any], EvalContext], Any]
"""The folded value of an instruction, from the folded values of its operands; None if nothing is certain.

The value of a tuple is a tuple of folded values."""


def by_moving(evaluate: Evaluate, data: Sequence[int] = ()) -> Fold:
    """The folding rule of an operation whose elements are all elements of the operands ``data`` (none: of any
    operand)."""

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
        errors = [x.error if k in numbers else x.value for k, x in enumerate(operands)]
        return Folded.of(found, evaluate(instruction, errors, context))

    return folded


def on_integers(evaluate: Evaluate, is_certain: Callable[[Instruction], bool] = lambda _: True) -> Fold:
    """The folding rule of an operation whose results are certain if all numbers are integers and ``is_certain``
    holds."""

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
    """The folding rule of an operation whose semantics pass on operands unchanged, or elements of tuples."""
    return lambda instruction, operands, context: evaluate(instruction, list(operands), context)


def has_integers(x: Array) -> bool:
    """Whether the elements are integers or truth values."""
    return x.dtype.kind == "b" or is_integer(x.dtype)
