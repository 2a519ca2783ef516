"""Results of elementwise operations on constants: integers are certain, floats within an error.

The error bounds what compilers may do: fuse a product with a sum, multiply by a reciprocal, keep more bits.  It is 0
if nothing is rounded, so that all of these agree.  An integer or a truth value that follows from a float is certain
if all floats within the error give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..._core import Instruction
from ...base.lazy import np
from .._evaluation import Array, EvalContext, Evaluate
from .._folding import UNCERTAIN, Fold, Folded, has_integers

_ROUNDING = {"float16": 2.0**-9, "bfloat16": 2.0**-6, "float32": 2.0**-22, "float64": 2.0**-51}
"""For each type the error of an operation relative to its result: four times half a unit in the last place."""

_SMALLEST = 2.0**-14
"""The smallest float that is normal in each of the types; smaller ones may become zero."""

_LARGEST = 2.0**53

Errors = Callable[["_Operation"], Array]


class _Operation:
    """An operation on floats: its operands and its result in f64, and the errors of the operands."""

    def __init__(self, operands: Sequence[Folded], result: Array, evaluated: Callable[..., Array]) -> None:
        self.values = [x.value.astype(np.float64) for x in operands]
        self.errors = [x.error for x in operands]
        self.result = result.astype(np.float64)
        self.to = result.dtype
        self.rounding = np.abs(self.result) * _ROUNDING.get(result.dtype.name, 0.0)
        self.evaluated = evaluated

    @property
    def are_certain(self) -> Array:
        """Where all operands are."""
        return np.asarray(sum(self.errors) == 0)

    def rounded(self, error: Array, is_exact: Array) -> Array:
        """The error of the result if the operands cause this error, plus the error of rounding, if there is one."""
        return np.where(is_exact & self.are_certain, 0.0, error + self.rounding)

    def unless_crossed(self) -> Array:
        """No error if the ends of the intervals of all operands give the same result."""
        ends = [(x - e, x + e) for x, e in zip(self.values, self.errors, strict=True)]
        below = self.evaluated(*(low for low, _ in ends))
        above = self.evaluated(*(high for _, high in ends))
        return np.where((below == self.result) & (above == self.result), 0.0, UNCERTAIN)


def folds(evaluate: Evaluate) -> Fold:
    """The hook of an operation with these semantics."""

    def folded(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
        values = [x.value for x in operands]

        def evaluated(*numbers: Array) -> Array:
            return np.asarray(evaluate(instruction, list(numbers), context))

        with np.errstate(all="ignore"):
            result = evaluated(*values)
            if instruction.opcode == "select":
                return Folded.of(result, _error_of_select(*operands))
            if all(map(has_integers, [*values, result])):
                certain = sum(x.error for x in operands) == 0
                if instruction.opcode in _OF_NATURALS:
                    certain = certain & np.all([x >= 0 for x in values], axis=0)
                return Folded.of(result, np.where(certain, 0.0, UNCERTAIN))
            errors = _ERRORS.get(instruction.opcode)
            if errors is None or not all(_is_comparable(x) for x in (*values, result)):
                return None
            error = errors(_Operation(operands, result, evaluated))
            if not has_integers(result):
                size = np.abs(result.astype(np.float64))
                is_number = np.isfinite(size) & ((size >= _SMALLEST) | ((error == 0) & (size == 0)))
                error = np.where(is_number, error, UNCERTAIN)
        return Folded.of(result, np.where(np.isnan(error), UNCERTAIN, error))

    return folded


def _error_of_select(which: Folded, on_true: Folded, on_false: Folded) -> Array:
    return np.where(which.error == 0, np.where(which.value, on_true.error, on_false.error), UNCERTAIN)


def _is_comparable(x: Array) -> bool:
    """Whether f64 holds each element."""
    if has_integers(x):
        return bool((np.abs(x.astype(np.float64)) < _LARGEST).all())
    return x.dtype.name in _ROUNDING


def _is_short(x: Array) -> Array:
    """Whether a number has at most 24 bits, so that the product of two is exact in f64."""
    return np.asarray(x.astype(np.float32).astype(np.float64) == x)


def _sum(op: _Operation) -> Array:
    """The rounding error of a sum of two numbers is a sum of them (Knuth's TwoSum)."""
    a, b = op.values
    total = a + b
    part = total - a
    lost = (a - (total - part)) + (b - part)
    return op.rounded(op.errors[0] + op.errors[1], (total == op.result) & (lost == 0))


def _difference(op: _Operation) -> Array:
    op.values[1] = -op.values[1]
    return _sum(op)


def _product(op: _Operation) -> Array:
    (a, b), (x, y) = op.values, op.errors
    error = np.where(x > 0, x * (np.abs(b) + y), 0.0) + np.where(y > 0, y * np.abs(a), 0.0)
    return op.rounded(error, _is_short(a) & _is_short(b) & (a * b == op.result))


def _quotient(op: _Operation) -> Array:
    """A divisor may become its reciprocal, which is exact for powers of two."""
    (a, b), (x, y) = op.values, op.errors
    mantissa, _ = np.frexp(np.abs(b))
    is_exact = (a == 0) | ((mantissa == 0.5) & (op.result * b == a))
    return np.where((y == 0) & (b != 0), op.rounded(x / np.abs(b), is_exact), UNCERTAIN)


def _comparison(op: _Operation) -> Array:
    (a, b), (x, y) = op.values, op.errors
    return np.where((x + y == 0) | (np.abs(a - b) > x + y), 0.0, UNCERTAIN)


def _conversion(op: _Operation) -> Array:
    """Between integers and floats, to another float, or to whether a number is not zero."""
    (a,), (x,) = op.values, op.errors
    if op.to.name in _ROUNDING:
        return op.rounded(x, a == op.result)
    if op.to == np.bool_:
        return np.where((x == 0) | (np.abs(a) > x), 0.0, UNCERTAIN)
    low, high = np.trunc(a - x), np.trunc(a + x)
    return np.where((low == op.result) & (high == op.result), 0.0, UNCERTAIN)


def _largest_error(op: _Operation) -> Array:
    found = op.errors[0]
    for error in op.errors[1:]:
        found = np.maximum(found, error)
    return found


_OF_NATURALS = {"count-leading-zeros"}
"""Operations on integers for which XLA's own evaluation of constants has other values for negative numbers."""

_ERRORS: Mapping[str, Errors] = {
    **dict.fromkeys(("abs", "clamp", "maximum", "minimum", "negate"), _largest_error),
    **dict.fromkeys(("ceil", "floor", "round-nearest-afz", "round-nearest-even", "sign"), _Operation.unless_crossed),
    "add": _sum,
    "compare": _comparison,
    "convert": _conversion,
    "divide": _quotient,
    "multiply": _product,
    "subtract": _difference,
}
