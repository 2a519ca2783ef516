"""Integer scalars of a program as expressions: what a rule may know of a value without running the program.

A value is a quasi-affine expression over symbols with an interval; arithmetic that may leave the element type's range,
and every operation that is not listed, has no value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple, TypeAlias

from ...._core import Computation, Expr, Instruction, Shape
from ....base.types import ShapeIndex
from ....errors import HlomapError
from ..._shapes import INT64_MAX

MAX_DEPTH = 100
"""Operations between a value and the constants and symbols that it is made of."""

MAX_VECTOR = 64
"""Elements of a vector of which each may have a value."""

_MAX_SEEN = 500

Interval: TypeAlias = tuple[int, int]


class Scalar(NamedTuple):
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


class Comparison(NamedTuple):
    """A predicate that holds for some values of the symbols: ``left direction right``."""

    direction: str
    left: Scalar
    right: Scalar


Value: TypeAlias = Scalar | Comparison | None
ParameterValue: TypeAlias = Callable[[ShapeIndex], Value]
"""The value of a scalar of a computation's parameter."""

HOLDS: Mapping[str, Callable[[int, int], bool]] = {
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
    "EQ": operator.eq,
    "NE": operator.ne,
}
"""Whether a comparison holds, by its direction."""


@cache
def dtype_interval(dtype: str) -> Interval | None:
    """The smallest and largest number of an integer type, or of pred; None for other types."""
    if dtype == "pred":
        return 0, 1
    kind, bits = dtype[:1], dtype[1:]
    if kind not in ("s", "u") or bits not in ("8", "16", "32", "64"):
        return None
    n = 2 ** int(bits)
    return (0, n - 1) if kind == "u" else (-n // 2, n // 2 - 1)


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
        self._known: dict[Part, Value] = {}
        self._depth = MAX_DEPTH  # how much further to look
        self.only_compares: bool = True
        """Whether nothing was computed from scalars so far but comparisons."""

    def of(
        self, at: Instruction, index: ShapeIndex = (), callers: tuple[Instruction, ...] = (), element: int = 0
    ) -> Value:
        """The value of a scalar, or of an element of a vector.

        ``callers`` are the calls that lead to the computation of the instruction, the innermost last; a computation
        with one caller needs none.
        """
        if self._depth == 0:
            return None
        key = (at, index, callers, element)
        if key in self._known:
            return self._known[key]
        value: Value = None
        self._depth -= 1
        try:
            value = self._computed(*key)
        except (HlomapError, OverflowError, LookupError, ValueError, TypeError, AttributeError):
            pass
        finally:
            self._depth += 1
        self._known[key] = value
        return value

    def _computed(self, at: Instruction, index: ShapeIndex, callers: tuple[Instruction, ...], element: int) -> Value:
        """The value that another one hands on, or of an operation on values at the same place."""
        opcode = at.opcode
        if opcode == "parameter" and at.computation == self._computation:
            own = index if len(self._computation.parameters) == 1 else (at.parameter_number or 0, *index)
            return None if element else self._parameter(own)
        before = handed_on((at, index, callers, element), self._computation)
        if before is not None:
            return self.of(*before)
        shape = at.shape
        interval = dtype_interval(shape.dtype) if not index and _is_vector(shape) else None
        if interval is None or opcode == "parameter":
            return None
        if opcode == "constant":
            return _literal(at, element)
        rule = _RULES.get(opcode)
        if rule is None or (self._wraps and not at._has("modular")) or (interval == (0, 1) and at._has("linear")):
            return None
        self.only_compares = self.only_compares and opcode == "compare"
        n, operands = shape.n_elements, at.operands
        sizes = [o.shape.n_elements for o in operands]
        if any(size not in (1, n) for size in sizes):
            return None
        elements = [element if size == n else 0 for size in sizes]
        value = rule(at, [self.of(o, (), callers, own) for o, own in zip(operands, elements, strict=True)])
        return _fitted(value, interval, wraps=self._wraps)


Part: TypeAlias = tuple[Instruction, ShapeIndex, tuple[Instruction, ...], int]
"""An instruction, the leaf, the calls that lead to it, and the element of a vector, or ``ALL``."""

ALL = -1
"""All elements of an array, in the place of one."""


def handed_on(part: Part, within: Computation) -> Part | None:
    """The value that another one is as it is: through tuples, calls and moves, up to the parameters of ``within``."""
    at, index, callers, element = part
    opcode = at.opcode
    if opcode == "parameter":
        return _argument(part) if at.computation != within else None
    if opcode in ("fusion", "call"):
        called = at.called_computations
        return (called[0].root, index, (*callers, at), element) if len(called) == 1 else None
    operands = at.operands
    if opcode == "get-tuple-element":
        return operands[0], (int(at.attributes["index"]), *index), callers, element
    if opcode == "tuple":
        return (operands[index[0]], index[1:], callers, element) if index else None
    if opcode == "opt-barrier" and len(operands) == 1:
        return operands[0], index, callers, element
    if opcode in ("copy", "bitcast", "reshape") and _is_same(at, operands[0].shape, element):
        return operands[0], index, callers, element
    if element == ALL or index or not _is_vector(at.shape):
        return None
    if opcode == "concatenate":
        return _of_concatenate(part)
    if not at._has("moves") or operands[0].shape.dtype != at.shape.dtype:
        return None
    same = _same_element(at, operands[0], element)
    return None if same is None else (operands[0], (), callers, same)


def _argument(part: Part) -> Part | None:
    """The value of a parameter, where one call is known to pass it."""
    at, index, callers, element = part
    computation, number = at.computation, at.parameter_number or 0
    if callers and computation in callers[-1].called_computations:
        caller, outer = callers[-1], callers[:-1]
    elif len(computation.callers) == 1:
        caller, outer = computation.callers[0], callers
    else:
        return None
    if caller.opcode in ("fusion", "call") and number < len(caller.operands):
        return caller.operands[number], index, outer, element
    if caller.opcode == "while" and computation._forwards(index):
        return caller.operands[0], index, outer, element
    if caller.opcode == "conditional" and caller.called_computations.count(computation) == 1:
        branch = caller.called_computations.index(computation)
        return caller.operands[branch + 1], index, outer, element
    return None


def _is_same(at: Instruction, before: Shape, element: int) -> bool:
    """Whether an operation that keeps the order of elements has those of its operand at the same indices.

    A bitcast keeps their order in memory, so between layouts it transposes.
    """
    shape = at.shape
    if before.is_tuple or not before.is_array or not shape.is_array:
        return before.is_tuple
    if before.dimensions != shape.dimensions or (at.opcode == "bitcast" and before.layout != shape.layout):
        return False
    return element == ALL or before.dtype == shape.dtype


def _of_concatenate(part: Part) -> Part | None:
    """The operand of a concatenation that has an element of a vector, along its one dimension that is not 1."""
    at, _, callers, element = part
    for operand in at.operands:
        n = operand.shape.n_elements
        if not _is_vector(operand.shape):
            return None
        if element < n:
            return operand, (), callers, element
        element -= n
    return None


def arithmetic(at: Instruction, operands: list[Value]) -> Value:
    """The result of an elementwise operation on integers, with the values that these operands have."""
    interval, rule = dtype_interval(at.shape.dtype), _RULES.get(at.opcode)
    if rule is None or interval is None or (interval == (0, 1) and at._has("linear")):
        return None
    return _fitted(rule(at, operands), interval, wraps=False)


def _fitted(value: Value, interval: Interval, *, wraps: bool) -> Value:
    """The value if it fits its type; a known number wraps."""
    if not isinstance(value, Scalar) or (interval[0] <= value.lower and value.upper <= interval[1]):
        return value
    if value.known is not None:
        size = interval[1] - interval[0] + 1
        return Scalar.constant((value.known - interval[0]) % size + interval[0])
    return Scalar(value.expr, *interval) if wraps else None


def is_invariant(body: Computation, at: Instruction, callers: tuple[Instruction, ...], element: int) -> bool:
    """Whether an element of a vector in a loop's body is the same in every iteration, as leaves are that stay."""
    pending: list[Part] = [(at, (), callers, element)]
    seen: set[Part] = set()
    while pending:
        part = pending.pop()
        if part in seen:
            continue
        seen.add(part)
        before = _parts_before(body, part) if len(seen) <= _MAX_SEEN else None
        if before is None:
            return False
        pending += before
    return True


def _parts_before(body: Computation, part: Part) -> list[Part] | None:
    """The parts that a value is made of; None where it may change from iteration to iteration."""
    at, index, callers, element = part
    if at.opcode == "parameter" and at.computation == body:
        return [] if index and body._forwards(index) else None
    before = handed_on(part, body)
    if before is not None:
        return [before]
    if at.opcode == "parameter" or at.called_computations or at._has("varies"):
        return None
    own, n = at.opcode in _RULES and _is_vector(at.shape), at.shape.n_elements
    return [(o, (), callers, element if own and o.shape.n_elements == n else ALL) for o in at.operands]


def _is_vector(shape: Shape) -> bool:
    """Whether an array has few elements, along one dimension: in any layout they are in the same order."""
    if not shape.is_array:
        return False
    n = shape.n_elements
    return 0 < n <= MAX_VECTOR and max(shape.dimensions, default=1) == n


def _same_element(at: Instruction, source: Instruction, element: int) -> int | None:
    """The element of an operand that an operation does not change."""
    if not _is_vector(source.shape):
        return None
    n = source.shape.n_elements
    if n == 1:
        return 0
    if at.opcode == "slice":
        start, _, stride = at.attributes["slice"][source.shape.dimensions.index(n)]
        return int(start) + int(stride) * element
    return element if at.opcode in ("copy", "bitcast", "reshape", "transpose") and n == at.shape.n_elements else None


def _literal(instruction: Instruction, element: int) -> Value:
    value = instruction._integer(element)
    return Scalar.constant(value) if value is not None and abs(value) <= INT64_MAX else None


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


def _known_only(rule: Callable[[int, int], int]) -> Callable[[Scalar, Scalar], Value]:
    return lambda a, b: Scalar.constant(rule(a.known, b.known)) if a.known is not None and b.known is not None else None


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
    ends = {HOLDS[direction](x, 0) for x in (difference.lower, difference.upper)}
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
    "or": _binary(_known_only(operator.or_)),
    "xor": _binary(_known_only(operator.xor)),
    "convert": _convert,
    "negate": _negate,
    "not": _not,
    "compare": _compare,
    "select": _select,
    "clamp": _clamp,
}
