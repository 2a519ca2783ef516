"""Semantics of elementwise operations: a function of whole arrays for each opcode.

Operations that are a function of their operands alone have one row each in a table: the function, the name of the
builder method, and the result in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ..._core import Instruction
from ...base import dtypes
from ...base.lazy import np
from .._evaluation import Array, EvalContext, Evaluate, Value
from .._numpy import numeric

ORDERED = "pred int uint float"
"""The kinds of element types that backends order; XLA's shape inference also takes complex numbers."""


def _part(part: str) -> Callable[[Array], Array]:
    def component(x: Array) -> Array:
        if x.dtype.kind == "c":
            return np.asarray(getattr(x, part))
        return x if part == "real" else np.zeros_like(x)

    return component


def _same(x: Array) -> Array:
    return x


def _log2(x: Array) -> Array:
    return np.asarray(np.log(x) / x.dtype.type(np.log(2)) if x.dtype.kind == "c" else np.log2(x))


def _rsqrt(x: Array) -> Array:
    return np.asarray(1 / np.sqrt(x), x.dtype)


def _subtract(a: Array, b: Array) -> Array:
    return np.logical_xor(a, b) if a.dtype == np.bool_ else np.subtract(a, b)


def _logistic(x: Array) -> Array:
    power = numeric.exponential(-x)
    if x.dtype.kind == "c":
        # Division by a complex infinity gives NaN in NumPy.
        return np.where(np.isinf(power.real) | np.isinf(power.imag), x.dtype.type(0), 1 / (1 + power))
    return np.asarray(1 / (1 + power), x.dtype)


Row: TypeAlias = "tuple[str | Callable[..., Array], str, str]"
"""A name in place of a function names a NumPy function; NumPy is imported when a program runs."""

UNARY: dict[str, Row] = {
    "abs": ("abs", "abs", "The absolute value; a real number for complex operands."),
    "acos": ("arccos", "acos", "The arc cosine."),
    "acosh": ("arccosh", "acosh", "The inverse hyperbolic cosine."),
    "asin": ("arcsin", "asin", "The arc sine."),
    "asinh": ("arcsinh", "asinh", "The inverse hyperbolic sine."),
    "atanh": ("arctanh", "atanh", "The inverse hyperbolic tangent."),
    "cbrt": ("cbrt", "cbrt", "The cube root."),
    "ceil": ("ceil", "ceil", "The operand rounded up to an integer."),
    "count-leading-zeros": (numeric.leading_zeros, "clz", "The number of leading zero bits."),
    "copy": (_same, "copy", "A copy of the operand."),
    "cosine": (numeric.cosine, "cos", "The cosine."),
    "cosh": ("cosh", "cosh", "The hyperbolic cosine."),
    "erf": (numeric.erf, "erf", "The error function."),
    "exp2": (numeric.power_of_two, "exp2", "``2 ** x``."),
    "exponential": (numeric.exponential, "exp", "``e ** x``."),
    "exponential-minus-one": (numeric.exponential_minus_one, "expm1", "``e ** x - 1``, accurate near zero."),
    "floor": ("floor", "floor", "The operand rounded down to an integer."),
    "imag": (_part("imag"), "imag", "The imaginary part; zero for real numbers."),
    "is-finite": ("isfinite", "is_finite", "Whether a number is neither infinite nor NaN, as pred."),
    "log": ("log", "log", "The natural logarithm."),
    "log-plus-one": ("log1p", "log1p", "``ln(1 + x)``, accurate near zero."),
    "log2": (_log2, "log2", "The logarithm to base 2."),
    "logistic": (_logistic, "logistic", "``1 / (1 + e ** -x)``."),
    "negate": ("negative", "neg", "``-x``."),
    "not": ("invert", "not_", "Bitwise not; logical not for pred."),
    "popcnt": (numeric.popcount, "population_count", "The number of set bits."),
    "real": (_part("real"), "real", "The real part; the operand itself for real numbers."),
    "round-nearest-afz": (
        numeric.round_half_away_from_zero,
        "round",
        "The nearest integer; ties away from zero.",
    ),
    "round-nearest-even": ("rint", "round_nearest_even", "The nearest integer; ties to even."),
    "rsqrt": (_rsqrt, "rsqrt", "``1 / sqrt(x)``."),
    "sign": (numeric.sign, "sign", "The sign: -1, 0 or 1; a zero keeps its sign and NaN stays."),
    "sine": (numeric.sine, "sin", "The sine."),
    "sinh": ("sinh", "sinh", "The hyperbolic sine."),
    "sqrt": (numeric.square_root, "sqrt", "The square root."),
    "tan": ("tan", "tan", "The tangent."),
    "tanh": ("tanh", "tanh", "The hyperbolic tangent."),
}
BINARY: dict[str, Row] = {
    "add": ("add", "add", "The sum; logical or for pred."),
    "subtract": (_subtract, "sub", "The difference."),
    "multiply": ("multiply", "mul", "The product; logical and for pred."),
    "divide": (numeric.divide, "div", "The quotient; truncated for integers."),
    "remainder": (numeric.remainder, "rem", "The remainder, with the sign of ``lhs``."),
    "power": (numeric.power, "pow", "``lhs`` to the power of ``rhs``."),
    "maximum": (numeric.maximum, "max", "The larger of both; NaN if one is."),
    "minimum": (numeric.minimum, "min", "The smaller of both; NaN if one is."),
    "and": ("bitwise_and", "and_", "Bitwise and; logical and for pred."),
    "or": ("bitwise_or", "or_", "Bitwise or; logical or for pred."),
    "xor": ("bitwise_xor", "xor", "Bitwise exclusive or; inequality for pred."),
    "mulhi": (numeric.high_product, "mulhi", "The upper half of the bits of the product."),
    "shift-left": (
        numeric.shift(left=True, arithmetic=False),
        "shift_left",
        "``lhs`` shifted left by ``rhs`` bits; excess bits are lost.",
    ),
    "shift-right-arithmetic": (
        numeric.shift(left=False, arithmetic=True),
        "shift_right_arithmetic",
        "``lhs`` shifted right by ``rhs`` bits; the sign bit is repeated.",
    ),
    "shift-right-logical": (
        numeric.shift(left=False, arithmetic=False),
        "shift_right_logical",
        "``lhs`` shifted right by ``rhs`` bits; zeros fill up.",
    ),
    "atan2": (numeric.atan2, "atan2", "The angle of the point ``(rhs, lhs)`` in radians."),
    "complex": (
        numeric.make_complex,
        "complex",
        "Complex numbers from real and imaginary parts of f32 or f64.",
    ),
}
COMPARISONS: dict[str, tuple[str, str, str | None, str]] = {
    "EQ": ("equal", "eq", None, "equal to"),
    "NE": ("not_equal", "ne", None, "not equal to"),
    "GE": ("greater_equal", "ge", ORDERED, "greater than or equal to"),
    "GT": ("greater", "gt", ORDERED, "greater than"),
    "LE": ("less_equal", "le", ORDERED, "less than or equal to"),
    "LT": ("less", "lt", ORDERED, "less than"),
}
"""By direction, with the kinds of element types if those of the operation are more."""
NARROW = {"copy", "count-leading-zeros", "mulhi", "popcnt", *(name for name in BINARY if name.startswith("shift"))}
"""These operations take operands unconverted and count the bits of a narrow type; others get widened operands."""

TRANSCENDENTAL = frozenset(
    """
    acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exp2 exponential exponential-minus-one log log-plus-one
    logistic power rsqrt sine sinh sqrt tan tanh
    """.split()  # noqa: SIM905 (a list would be 23 lines)
)


def semantics() -> Iterator[tuple[str, Evaluate]]:
    """Each opcode with its semantics."""
    for opcode, (function, *_) in (UNARY | BINARY).items():
        found = _of_numpy(function) if isinstance(function, str) else function
        yield opcode, _on_operands(found if opcode in NARROW else numeric.wide(found))
    yield from OTHERS.items()


def _compare(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    a, b = operands
    attributes = instruction.attributes
    if attributes.get("order", attributes.get("type")) in ("TOTAL", "TOTALORDER"):
        a, b = numeric.total_order_key(a), numeric.total_order_key(b)
    return np.asarray(getattr(np, COMPARISONS[str(attributes["direction"])][0])(a, b))


def _reduce_precision(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    attributes = instruction.attributes
    return numeric.reduce_precision(operands[0], int(attributes["exponent_bits"]), int(attributes["mantissa_bits"]))


def _stochastic_convert(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The value rounds away from zero where the random number is below the fraction."""
    x, random = operands
    whole = np.trunc(x)
    fraction = np.abs(x.astype(np.float64) - whole.astype(np.float64))
    up = random.astype(np.float64) < np.floor(np.ldexp(fraction, numeric.width_of(random.dtype)))
    rounded = np.where(up, whole + np.sign(x), whole)
    return numeric.convert(np.asarray(rounded, x.dtype), _dtype_of(instruction))


def _dtype_of(instruction: Instruction) -> np.dtype[Any]:
    return dtypes.numpy_dtype(instruction.shape.dtype)


def _of_numpy(name: str) -> Callable[..., Any]:
    return lambda *operands: getattr(np, name)(*operands)


def _on_operands(function: Callable[..., Array]) -> Callable[[Instruction, Sequence[Value], EvalContext], Value]:
    return lambda instruction, operands, context: function(*operands)


OTHERS: dict[str, Evaluate] = {
    "compare": _compare,
    "select": lambda instruction, operands, context: np.where(*operands),
    "clamp": _on_operands(numeric.wide(numeric.clamp)),
    "convert": lambda instruction, operands, context: numeric.convert(operands[0], _dtype_of(instruction)),
    "reduce-precision": _reduce_precision,
    "stochastic-convert": _stochastic_convert,
    "map": lambda instruction, operands, context: context.apply(instruction.called_computations[0], operands),
}
