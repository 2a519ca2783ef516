"""Integer scalars of a program as expressions: what a rule may know of a value without running the program.

Read :class:`ScalarValues`.  A value is a quasi-affine expression over symbols with an interval; arithmetic that may
leave the element type's range, and every operation that is not listed, has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..._core import Computation, Expr, Instruction
from ...dtypes import is_integer, is_unsigned, numpy_dtype
from ...errors import HlomapError
from ...types import ShapeIndex
from .._rule import INT64_MAX

MAX_DEPTH = 100
"""Operations between a value and the constants and symbols that it is made of."""

Interval: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Scalar:
    """An integer: an expression over symbols, which are dims by number, and an interval that contains its values."""

    expr: Expr
    lower: int
    upper: int

    @staticmethod
    def constant(value: int) -> Scalar:
        """A known number."""
        return Scalar(Expr.constant(value), value, value)

    @property
    def known(self) -> int | None:
        """The number, where it is known."""
        return self.lower if self.lower == self.upper else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A predicate that holds for some values of the symbols: ``left direction right``."""

    direction: str
    left: Scalar
    right: Scalar


Value: TypeAlias = Scalar | Comparison | None
ParameterValue: TypeAlias = Callable[[ShapeIndex], Value]
"""The value of a scalar of a computation's parameter."""

_HOLDS: Mapping[str, Callable[[int, int], bool]] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}

_SAME = {"copy", "bitcast", "reshape", "broadcast", "transpose", "slice", "reverse"}
"""Operations from one element to one element that do not change it."""


def dtype_interval(dtype: str) -> Interval | None:
    """The smallest and largest number of an integer type, or of pred; None for other types."""
    if dtype == "pred":
        return 0, 1
    to = numpy_dtype(dtype)
    if not is_integer(to) or to.itemsize > 8 or dtype[1:] not in ("8", "16", "32", "64"):
        return None
    bits = 8 * to.itemsize
    return (0, 2**bits - 1) if is_unsigned(to) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


class ScalarValues:
    """The values of the integer scalars of one computation and of those that it calls.

    ``parameter`` gives the values of the computation's own parameter or parameters (the first number of an index is
    then the parameter's).  ``wraps``: values count modulo the size of their type; only sums, differences,
    multiples and comparisons of these have one.
    """

    def __init__(self, computation: Computation, parameter: ParameterValue, *, wraps: bool = False) -> None:
        self._computation = computation
        self._parameter = parameter
        self._wraps = wraps
        self._known: dict[tuple[int, ShapeIndex, tuple[int, ...]], Value] = {}

    def of(self, instruction: Instruction, index: ShapeIndex = (), callers: tuple[Instruction, ...] = ()) -> Value:
        """The value of a scalar; ``callers`` are the calls that lead to its computation, the innermost last.

        A computation with one caller needs none.
        """
        return self._value(instruction, index, callers, MAX_DEPTH)

    def _value(self, at: Instruction, index: ShapeIndex, callers: tuple[Instruction, ...], depth: int) -> Value:
        if depth == 0:
            return None
        key = (at.number, index, tuple(c.number for c in callers))
        if key not in self._known:
            try:
                self._known[key] = self._computed(at, index, callers, depth)
            except (HlomapError, OverflowError, LookupError, ValueError):
                self._known[key] = None
        return self._known[key]

    def _computed(self, at: Instruction, index: ShapeIndex, callers: tuple[Instruction, ...], depth: int) -> Value:
        opcode = at.opcode
        if opcode == "parameter":
            return self._of_parameter(at, index, callers, depth)
        if opcode == "get-tuple-element":
            return self._value(at.operands[0], (int(at.attributes["index"]), *index), callers, depth - 1)
        if opcode == "tuple":
            return self._value(at.operands[index[0]], index[1:], callers, depth - 1) if index else None
        if opcode == "opt-barrier" and len(at.operands) == 1:
            return self._value(at.operands[0], index, callers, depth - 1)
        if opcode in ("fusion", "call"):
            called = at.called_computations
            return self._value(called[0].root, index, (*callers, at), depth - 1) if len(called) == 1 else None
        if index or not at.shape.is_array or at.shape.n_elements != 1:
            return None
        if opcode in _SAME:
            source = at.operands[0]
            same = source.shape.is_array and source.shape.n_elements == 1 and source.shape.dtype == at.shape.dtype
            return self._value(source, (), callers, depth - 1) if same else None
        interval = dtype_interval(at.shape.dtype)
        if interval is None:
            return None
        if opcode == "constant":
            return _literal(at)
        rule = _RULES.get(opcode)
        if rule is None or (self._wraps and opcode not in _MODULAR) or (interval == (0, 1) and opcode in _ARITHMETIC):
            return None
        return self._fitted(rule(at, [self._value(o, (), callers, depth - 1) for o in at.operands]), interval)

    def _fitted(self, value: Value, interval: Interval) -> Value:
        """The value if it fits its type; a known number wraps."""
        if not isinstance(value, Scalar) or (interval[0] <= value.lower and value.upper <= interval[1]):
            return value
        if value.known is not None:
            size = interval[1] - interval[0] + 1
            return Scalar.constant((value.known - interval[0]) % size + interval[0])
        return Scalar(value.expr, *interval) if self._wraps else None

    def _of_parameter(self, at: Instruction, index: ShapeIndex, callers: tuple[Instruction, ...], depth: int) -> Value:
        computation = at.computation
        number = at.parameter_number or 0
        if computation == self._computation:
            return self._parameter(index if len(computation.parameters) == 1 else (number, *index))
        if callers and computation in callers[-1].called_computations:
            caller, outer = callers[-1], callers[:-1]
        elif len(computation.callers) == 1:
            caller, outer = computation.callers[0], callers
        else:
            return None
        if caller.opcode in ("fusion", "call") and number < len(caller.operands):
            return self._value(caller.operands[number], index, outer, depth - 1)
        if caller.opcode == "conditional" and caller.called_computations.count(computation) == 1:
            branch = caller.called_computations.index(computation)
            return self._value(caller.operands[branch + 1], index, outer, depth - 1)
        return None


def _literal(instruction: Instruction) -> Value:
    try:
        literal = instruction.literal
    except HlomapError:
        return None
    if literal is None:
        return None
    value = int(np.asarray(literal).reshape(())[()])
    return Scalar.constant(value) if abs(value) <= INT64_MAX else None


def _sum(a: Scalar, b: Scalar) -> Scalar:
    return Scalar(a.expr + b.expr, a.lower + b.lower, a.upper + b.upper)


def _difference(a: Scalar, b: Scalar) -> Scalar:
    return Scalar(a.expr - b.expr, a.lower - b.upper, a.upper - b.lower)


def _multiple(a: Scalar, b: Scalar) -> Value:
    if a.known is not None:
        a, b = b, a
    factor = b.known
    if factor is None:
        return None
    return Scalar(a.expr * factor, min(a.lower * factor, a.upper * factor), max(a.lower * factor, a.upper * factor))


def _minimum(a: Scalar, b: Scalar) -> Value:
    return a if a.upper <= b.lower else b if b.upper <= a.lower else None


def _maximum(a: Scalar, b: Scalar) -> Value:
    return a if a.lower >= b.upper else b if b.lower >= a.upper else None


def _quotient(a: Scalar, b: Scalar) -> Value:
    """Rounded toward zero, which is the floor where nothing is negative."""
    if b.known is None or b.known <= 0 or a.lower < 0:
        return None
    return Scalar(a.expr // b.known, a.lower // b.known, a.upper // b.known)


def _remainder(a: Scalar, b: Scalar) -> Value:
    if b.known is None or b.known <= 0 or a.lower < 0:
        return None
    if a.upper < b.known:
        return a
    if a.known is not None:
        return Scalar.constant(a.known % b.known)
    return Scalar(a.expr % b.known, 0, b.known - 1)


def _shift_left(a: Scalar, b: Scalar) -> Value:
    return _multiple(a, Scalar.constant(2**b.known)) if b.known is not None and 0 <= b.known < 62 else None


def _shift_right(a: Scalar, b: Scalar) -> Value:
    return _quotient(a, Scalar.constant(2**b.known)) if b.known is not None and 0 <= b.known < 62 else None


def _bitwise_and(a: Scalar, b: Scalar) -> Value:
    if a.known is not None and b.known is not None:
        return Scalar.constant(a.known & b.known)
    if a.known is not None:
        a, b = b, a
    if b.known is not None and b.known > 0 and (b.known & (b.known + 1)) == 0:
        return _remainder(a, Scalar.constant(b.known + 1))
    return Scalar.constant(0) if b.known == 0 else None


def _bitwise_or(a: Scalar, b: Scalar) -> Value:
    return Scalar.constant(a.known | b.known) if a.known is not None and b.known is not None else None


def _bitwise_xor(a: Scalar, b: Scalar) -> Value:
    return Scalar.constant(a.known ^ b.known) if a.known is not None and b.known is not None else None


def _binary(rule: Callable[[Scalar, Scalar], Value]) -> Callable[[Instruction, list[Value]], Value]:
    def apply(at: Instruction, operands: list[Value]) -> Value:
        a, b = operands
        return rule(a, b) if isinstance(a, Scalar) and isinstance(b, Scalar) else None

    return apply


def _convert(at: Instruction, operands: list[Value]) -> Value:
    (value,) = operands
    if dtype_interval(at.operands[0].shape.dtype) is None or not isinstance(value, Scalar):
        return None
    if at.shape.dtype == "pred" and value.known is not None:
        return Scalar.constant(int(value.known != 0))
    return value


def _negate(at: Instruction, operands: list[Value]) -> Value:
    (value,) = operands
    return Scalar(-value.expr, -value.upper, -value.lower) if isinstance(value, Scalar) else None


def _not(at: Instruction, operands: list[Value]) -> Value:
    (value,) = operands
    if isinstance(value, Comparison):
        opposite = {"LT": "GE", "GE": "LT", "GT": "LE", "LE": "GT", "EQ": "NE", "NE": "EQ"}
        return Comparison(opposite[value.direction], value.left, value.right)
    if at.shape.dtype == "pred" and isinstance(value, Scalar) and value.known is not None:
        return Scalar.constant(1 - value.known)
    return None


def _compare(at: Instruction, operands: list[Value]) -> Value:
    a, b = operands
    direction = str(at.attributes["direction"])
    if not isinstance(a, Scalar) or not isinstance(b, Scalar) or dtype_interval(at.operands[0].shape.dtype) is None:
        return None
    difference = _difference(a, b)
    ends = {_HOLDS[direction](x, 0) for x in (difference.lower, difference.upper)}
    if len(ends) == 1 and not (direction in ("EQ", "NE") and difference.lower < 0 < difference.upper):
        return Scalar.constant(int(ends.pop()))
    return Comparison(direction, a, b)


def _select(at: Instruction, operands: list[Value]) -> Value:
    which, a, b = operands
    if isinstance(which, Scalar) and which.known is not None:
        return a if which.known else b
    return a if a == b else None


def _clamp(at: Instruction, operands: list[Value]) -> Value:
    low, value, high = operands
    if not isinstance(low, Scalar) or not isinstance(value, Scalar) or not isinstance(high, Scalar):
        return None
    above = _maximum(low, value)
    return _minimum(above, high) if isinstance(above, Scalar) else None


_RULES: Mapping[str, Callable[[Instruction, list[Value]], Value]] = {
    "add": _binary(_sum),
    "subtract": _binary(_difference),
    "multiply": _binary(_multiple),
    "minimum": _binary(_minimum),
    "maximum": _binary(_maximum),
    "divide": _binary(_quotient),
    "remainder": _binary(_remainder),
    "shift-left": _binary(_shift_left),
    "shift-right-logical": _binary(_shift_right),
    "shift-right-arithmetic": _binary(_shift_right),
    "and": _binary(_bitwise_and),
    "or": _binary(_bitwise_or),
    "xor": _binary(_bitwise_xor),
    "convert": _convert,
    "negate": _negate,
    "not": _not,
    "compare": _compare,
    "select": _select,
    "clamp": _clamp,
}

_ARITHMETIC = {"add", "subtract", "multiply", "negate"}
_MODULAR = {*_ARITHMETIC, "compare", "not"}
