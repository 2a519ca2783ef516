"""Semantics of elementwise operations: a function of whole arrays for each opcode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from ... import dtypes
from ..._core import Instruction
from ...lazy import np
from .._evaluation import Array, EvalContext, Evaluate, Value
from .._numpy import numeric as numeric


def semantics() -> Iterator[tuple[str, Evaluate]]:
    """Each opcode with its semantics."""
    for name, function in (UNARY | BINARY).items():
        yield name, _on_operands(numeric.wide(_of_numpy(function) if isinstance(function, str) else function))
    for name, narrow in (UNARY_NARROW | BINARY_NARROW).items():
        yield name, _on_operands(narrow)
    yield from OTHERS.items()


def _real_or_imaginary(part: str) -> Callable[[Array], Array]:
    def component(x: Array) -> Array:
        if x.dtype.kind == "c":
            return np.asarray(getattr(x, part))
        return x if part == "real" else np.zeros_like(x)

    return component


def _logistic(x: Array) -> Array:
    power = numeric.exponential(-x)
    if x.dtype.kind == "c":
        # Division by a complex infinity gives NaN in NumPy.
        return np.where(np.isinf(power.real) | np.isinf(power.imag), x.dtype.type(0), 1 / (1 + power))
    return np.asarray(1 / (1 + power), x.dtype)


_Function: TypeAlias = str | Callable[..., Array]
"""A name is that of a function of NumPy, which is imported when a program runs."""

UNARY: dict[str, _Function] = {
    "abs": "abs",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "cbrt": "cbrt",
    "ceil": "ceil",
    "cosine": numeric.cosine,
    "cosh": "cosh",
    "erf": numeric.erf,
    "exp2": numeric.power_of_two,
    "exponential": numeric.exponential,
    "exponential-minus-one": numeric.exponential_minus_one,
    "floor": "floor",
    "imag": _real_or_imaginary("imag"),
    "is-finite": "isfinite",
    "log": "log",
    "log-plus-one": "log1p",
    "log2": lambda x: np.log(x) / x.dtype.type(np.log(2)) if x.dtype.kind == "c" else np.log2(x),
    "logistic": _logistic,
    "negate": "negative",
    "not": "invert",
    "real": _real_or_imaginary("real"),
    "round-nearest-afz": numeric.round_half_away_from_zero,
    "round-nearest-even": "rint",
    "rsqrt": lambda x: np.asarray(1 / np.sqrt(x), x.dtype),
    "sign": numeric.sign,
    "sine": numeric.sine,
    "sinh": "sinh",
    "sqrt": numeric.square_root,
    "tan": "tan",
    "tanh": "tanh",
}
# These count the bits of the narrow type, so their operands must not be widened.
UNARY_NARROW: dict[str, Callable[..., Array]] = {
    "count-leading-zeros": numeric.leading_zeros,
    "popcnt": numeric.popcount,
}
BINARY: dict[str, _Function] = {
    "add": "add",
    "and": "bitwise_and",
    "atan2": numeric.atan2,
    "complex": numeric.make_complex,
    "divide": numeric.divide,
    "maximum": numeric.maximum,
    "minimum": numeric.minimum,
    "multiply": "multiply",
    "or": "bitwise_or",
    "power": numeric.power,
    "remainder": numeric.remainder,
    "subtract": lambda a, b: np.logical_xor(a, b) if a.dtype == np.bool_ else np.subtract(a, b),
    "xor": "bitwise_xor",
}
BINARY_NARROW: dict[str, Callable[..., Array]] = {
    "mulhi": numeric.high_product,
    "shift-left": numeric.shift(left=True, arithmetic=False),
    "shift-right-arithmetic": numeric.shift(left=False, arithmetic=True),
    "shift-right-logical": numeric.shift(left=False, arithmetic=False),
}
COMPARISONS = {
    "EQ": "equal",
    "NE": "not_equal",
    "LT": "less",
    "LE": "less_equal",
    "GT": "greater",
    "GE": "greater_equal",
}


def _compare(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    a, b = operands
    attributes = instruction.attributes
    if attributes.get("order", attributes.get("type")) in ("TOTAL", "TOTALORDER"):
        a, b = numeric.total_order_key(a), numeric.total_order_key(b)
    return np.asarray(getattr(np, COMPARISONS[str(instruction.attributes["direction"])])(a, b))


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
    "copy": lambda instruction, operands, context: operands[0],
    "compare": _compare,
    "select": lambda instruction, operands, context: np.where(*operands),
    "clamp": _on_operands(numeric.wide(numeric.clamp)),
    "convert": lambda instruction, operands, context: numeric.convert(operands[0], _dtype_of(instruction)),
    "reduce-precision": _reduce_precision,
    "stochastic-convert": _stochastic_convert,
    "map": lambda instruction, operands, context: context.apply(instruction.called_computations[0], operands),
}
