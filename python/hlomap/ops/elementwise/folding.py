"""Results of elementwise operations on constants that are certain: integers, and floats that no operation rounds.

A float result is exact if an operation that undoes it gives the operands back: numbers of up to 24 bits are multiplied
without rounding in f64, and the rounding error of a sum of two is a sum of them, too (Knuth's TwoSum).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..._core import Instruction
from ...dtypes import is_float
from ...lazy import np
from .._evaluation import Array, EvalContext, Evaluate
from .._folding import Fold, Folded, has_integers

_SMALLEST = 2.0**-14
"""The smallest float that is normal in each of the types; smaller ones may become zero."""

_LARGEST = 2.0**53

Exact = Callable[..., Array]
"""Which results are exact, from the operands and the result in f64."""


def folds(evaluate: Evaluate) -> Fold:
    """The hook of an operation with these semantics."""

    def folded(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
        values = [x.value for x in operands]
        with np.errstate(all="ignore"):
            result = np.asarray(evaluate(instruction, values, context))
            known = _known(instruction, operands)
            if not all(map(has_integers, [*values, result])):
                exact = _EXACT.get(instruction.opcode)
                if exact is None or not all(_is_comparable(x) for x in (*values, result)):
                    return None
                wide = [x.astype(np.float64) for x in (*values, result)]
                known = known & exact(*wide)
                if not has_integers(result):
                    known = known & np.isfinite(wide[-1]) & ((np.abs(wide[-1]) >= _SMALLEST) | (wide[-1] == 0))
        return Folded.of(result, known)

    return folded


def _known(instruction: Instruction, operands: Sequence[Folded]) -> Array:
    if instruction.opcode == "select":
        which, on_true, on_false = operands
        return np.asarray(which.known & np.where(which.value, on_true.known, on_false.known))
    found = operands[0].known
    for x in operands[1:]:
        found = found & x.known
    return np.asarray(found)


def _is_comparable(x: Array) -> bool:
    """Whether f64 holds each element, or tells that it does not."""
    if has_integers(x):
        return bool((np.abs(x.astype(np.float64)) < _LARGEST).all())
    return is_float(x.dtype) and x.dtype.name in ("float16", "bfloat16", "float32", "float64")


def _is_short(x: Array) -> Array:
    """Whether a number has at most 24 bits, so that the product of two is exact in f64."""
    return np.asarray(x.astype(np.float32).astype(np.float64) == x)


def _always(*wide: Array) -> Array:
    return np.asarray(True)


def _sum(a: Array, b: Array, result: Array) -> Array:
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return np.asarray((total == result) & (error == 0))


def _product(a: Array, b: Array, result: Array) -> Array:
    return np.asarray(_is_short(a) & _is_short(b) & (a * b == result))


def _quotient(a: Array, b: Array, result: Array) -> Array:
    return np.asarray(_is_short(result) & _is_short(b) & (result * b == a) & (b != 0))


_EXACT: Mapping[str, Exact] = {
    **dict.fromkeys(
        (
            "abs", "ceil", "clamp", "compare", "floor", "is-finite", "maximum", "minimum", "negate", "round-nearest-afz",
            "round-nearest-even", "select", "sign",
        ),
        _always,
    ),
    "add": _sum,
    "convert": lambda a, result: np.asarray(np.trunc(a) == result) | np.asarray(a == result),
    "divide": _quotient,
    "multiply": _product,
    "reduce-precision": lambda a, result: np.asarray(a == result),
    "sqrt": lambda a, result: _product(result, result, a),
    "subtract": lambda a, b, result: _sum(a, -b, result),
}  # fmt: skip
