"""The builder methods of elementwise operations: name, accepted element types, and the result in words.

The builder derives the method of an operation without a row from its attributes alone; such a method neither broadcasts
its operands nor checks their element types.
"""

from __future__ import annotations

from .._rule import ElementwiseMethod

ANY = "pred int uint float complex"
ORDERED = "pred int uint float"

_UNARY = {
    "abs": ("abs", "int float complex", "The absolute value; a real number for complex operands."),
    "acos": ("acos", "float complex", "The arc cosine."),
    "acosh": ("acosh", "float complex", "The inverse hyperbolic cosine."),
    "asin": ("asin", "float complex", "The arc sine."),
    "asinh": ("asinh", "float complex", "The inverse hyperbolic sine."),
    "atanh": ("atanh", "float complex", "The inverse hyperbolic tangent."),
    "cbrt": ("cbrt", "float", "The cube root."),
    "ceil": ("ceil", "float", "The operand rounded up to an integer."),
    "count-leading-zeros": ("clz", "int uint", "The number of leading zero bits."),
    "copy": ("copy", ANY, "A copy of the operand."),
    "cosine": ("cos", "float complex", "The cosine."),
    "cosh": ("cosh", "float complex", "The hyperbolic cosine."),
    "erf": ("erf", "float", "The error function."),
    "exp2": ("exp2", "float complex", "``2 ** x``."),
    "exponential": ("exp", "float complex", "``e ** x``."),
    "exponential-minus-one": ("expm1", "float complex", "``e ** x - 1``, accurate near zero."),
    "floor": ("floor", "float", "The operand rounded down to an integer."),
    "imag": ("imag", "float complex", "The imaginary part; zero for real numbers."),
    "is-finite": ("is_finite", "float", "Whether a number is neither infinite nor NaN, as pred."),
    "log": ("log", "float complex", "The natural logarithm."),
    "log-plus-one": ("log1p", "float complex", "``ln(1 + x)``, accurate near zero."),
    "log2": ("log2", "float complex", "The logarithm to base 2."),
    "logistic": ("logistic", "float complex", "``1 / (1 + e ** -x)``."),
    "negate": ("neg", "int uint float complex", "``-x``."),
    "not": ("not_", "pred int uint", "Bitwise not; logical not for pred."),
    "popcnt": ("population_count", "int uint", "The number of set bits."),
    "real": ("real", "float complex", "The real part; the operand itself for real numbers."),
    "round-nearest-afz": ("round", "float", "The nearest integer; ties away from zero."),
    "round-nearest-even": ("round_nearest_even", "float", "The nearest integer; ties to even."),
    "rsqrt": ("rsqrt", "float complex", "``1 / sqrt(x)``."),
    "sign": ("sign", "int float complex", "The sign: -1, 0 or 1; a zero keeps its sign and NaN stays."),
    "sine": ("sin", "float complex", "The sine."),
    "sinh": ("sinh", "float complex", "The hyperbolic sine."),
    "sqrt": ("sqrt", "float complex", "The square root."),
    "tan": ("tan", "float complex", "The tangent."),
    "tanh": ("tanh", "float complex", "The hyperbolic tangent."),
}
_BINARY = {
    "add": ("add", ANY, "The sum; logical or for pred."),
    "subtract": ("sub", "int uint float complex", "The difference."),
    "multiply": ("mul", ANY, "The product; logical and for pred."),
    "divide": ("div", "int uint float complex", "The quotient; truncated for integers."),
    "remainder": ("rem", "int uint float complex", "The remainder, with the sign of ``lhs``."),
    "power": ("pow", "int uint float complex", "``lhs`` to the power of ``rhs``."),
    "maximum": ("max", ANY, "The larger of both; NaN if one is."),
    "minimum": ("min", ANY, "The smaller of both; NaN if one is."),
    "and": ("and_", "pred int uint", "Bitwise and; logical and for pred."),
    "or": ("or_", "pred int uint", "Bitwise or; logical or for pred."),
    "xor": ("xor", "pred int uint", "Bitwise exclusive or; inequality for pred."),
    "mulhi": ("mulhi", "int uint", "The upper half of the bits of the product."),
    "shift-left": ("shift_left", "int uint", "``lhs`` shifted left by ``rhs`` bits; excess bits are lost."),
    "shift-right-arithmetic": (
        "shift_right_arithmetic",
        "int uint",
        "``lhs`` shifted right by ``rhs`` bits; the sign bit is repeated.",
    ),
    "shift-right-logical": ("shift_right_logical", "int uint", "``lhs`` shifted right by ``rhs`` bits; zeros fill up."),
    "atan2": ("atan2", "float complex", "The angle of the point ``(rhs, lhs)`` in radians."),
    "complex": ("complex", "float", "Complex numbers from real and imaginary parts of f32 or f64."),
}
_COMPARISONS = {
    "EQ": ("eq", ANY, "equal to"),
    "NE": ("ne", ANY, "not equal to"),
    "GE": ("ge", ORDERED, "greater than or equal to"),
    "GT": ("gt", ORDERED, "greater than"),
    "LE": ("le", ORDERED, "less than or equal to"),
    "LT": ("lt", ORDERED, "less than"),
}


def _comparisons() -> list[ElementwiseMethod]:
    """Two methods for each direction; the total order of floats is -nan < -inf < -0 < 0 < inf < nan."""
    methods = []
    for direction, (name, kinds, words) in _COMPARISONS.items():
        summary = f"Whether ``lhs`` is {words} ``rhs``, as pred"
        methods.append(ElementwiseMethod(name, 2, kinds, f"{summary}.", (("direction", direction),)))
        order = "total order of floats: -nan < -inf < -0 < 0 < inf < nan"
        total = (("type", "TOTALORDER"),)
        methods.append(
            ElementwiseMethod(f"{name}_total_order", 2, kinds, f"{summary}; {order}.", methods[-1].attributes, total)
        )
    return methods


METHODS: dict[str, tuple[str | ElementwiseMethod, ...]] = {
    **{opcode: (ElementwiseMethod(name, 1, kinds, summary),) for opcode, (name, kinds, summary) in _UNARY.items()},
    **{opcode: (ElementwiseMethod(name, 2, kinds, summary),) for opcode, (name, kinds, summary) in _BINARY.items()},
    "compare": tuple(_comparisons()),
    "convert": ("convert_element_type",),
}
