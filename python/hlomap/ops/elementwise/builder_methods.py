"""The builder methods of elementwise operations: name, accepted element types, and the result in words.

The builder makes the method of an operation without a row from its attributes alone; such a method neither broadcasts
its operands nor checks their element types.
"""

from __future__ import annotations

from .._rule import ElementwiseMethod

ANY = "pred int uint float complex"
ORDERED = "pred int uint float"

_UNARY = {
    "abs": ("abs", "int float complex", "``|x|``, of a complex number a real one."),
    "acos": ("acos", "float complex", "The arc cosine."),
    "acosh": ("acosh", "float complex", "The inverse hyperbolic cosine."),
    "asin": ("asin", "float complex", "The arc sine."),
    "asinh": ("asinh", "float complex", "The inverse hyperbolic sine."),
    "atanh": ("atanh", "float complex", "The inverse hyperbolic tangent."),
    "cbrt": ("cbrt", "float", "The cube root."),
    "ceil": ("ceil", "float", "The least integer that is not below."),
    "count-leading-zeros": ("clz", "int uint", "The number of zero bits above the highest set one."),
    "copy": ("copy", ANY, "The value itself, in memory of its own."),
    "cosine": ("cos", "float complex", "The cosine."),
    "cosh": ("cosh", "float complex", "The hyperbolic cosine."),
    "erf": ("erf", "float", "The error function."),
    "exponential": ("exp", "float complex", "``e ** x``."),
    "exponential-minus-one": ("expm1", "float complex", "``e ** x - 1``, precise near zero."),
    "floor": ("floor", "float", "The greatest integer that is not above."),
    "imag": ("imag", "float complex", "The imaginary part; of real numbers zero."),
    "is-finite": ("is_finite", "float", "Whether a number is neither infinite nor nan, as pred."),
    "log": ("log", "float complex", "The natural logarithm."),
    "log-plus-one": ("log1p", "float complex", "``ln(1 + x)``, precise near zero."),
    "logistic": ("logistic", "float complex", "``1 / (1 + e ** -x)``."),
    "negate": ("neg", "int uint float complex", "``-x``."),
    "not": ("not_", "pred int uint", "Every bit turned; of pred the other truth."),
    "popcnt": ("population_count", "int uint", "The number of bits that are set."),
    "real": ("real", "float complex", "The real part; of real numbers the number."),
    "round-nearest-afz": ("round", "float", "The nearest integer, halves away from zero."),
    "round-nearest-even": ("round_nearest_even", "float", "The nearest integer, halves to the even one."),
    "rsqrt": ("rsqrt", "float complex", "``1 / sqrt(x)``."),
    "sign": ("sign", "int float complex", "-1, 0 or 1; a zero keeps its sign and a nan stays."),
    "sine": ("sin", "float complex", "The sine."),
    "sinh": ("sinh", "float complex", "The hyperbolic sine."),
    "sqrt": ("sqrt", "float complex", "The square root."),
    "tan": ("tan", "float complex", "The tangent."),
    "tanh": ("tanh", "float complex", "The hyperbolic tangent."),
}
_BINARY = {
    "add": ("add", ANY, "The sum; of pred ``or``."),
    "subtract": ("sub", "int uint float complex", "The difference."),
    "multiply": ("mul", ANY, "The product; of pred ``and``."),
    "divide": ("div", "int uint float complex", "The quotient; of integers rounded to zero."),
    "remainder": ("rem", "int uint float complex", "The remainder, with the sign of ``lhs``."),
    "power": ("pow", "int uint float complex", "``lhs`` to the power of ``rhs``."),
    "maximum": ("max", ANY, "The larger of both; nan where one is."),
    "minimum": ("min", ANY, "The smaller of both; nan where one is."),
    "and": ("and_", "pred int uint", "The bits that both have; of pred both."),
    "or": ("or_", "pred int uint", "The bits that one has; of pred either."),
    "xor": ("xor", "pred int uint", "The bits that only one has; of pred not both."),
    "mulhi": ("mulhi", "int uint", "The upper half of the product."),
    "shift-left": ("shift_left", "int uint", "``lhs * 2 ** rhs``, bits above the width lost."),
    "shift-right-arithmetic": (
        "shift_right_arithmetic",
        "int uint",
        "``lhs`` shifted by ``rhs`` bits, the sign bit repeated.",
    ),
    "shift-right-logical": ("shift_right_logical", "int uint", "``lhs`` shifted by ``rhs`` bits, zeros in front."),
    "atan2": ("atan2", "float complex", "The angle of the point ``(rhs, lhs)``."),
    "complex": ("complex", "float", "Complex numbers from real and imaginary parts in f32 or f64."),
}
_COMPARISONS = {
    "EQ": ("eq", ANY, "equal to"),
    "NE": ("ne", ANY, "not equal to"),
    "GE": ("ge", ORDERED, "greater or equal to"),
    "GT": ("gt", ORDERED, "greater than"),
    "LE": ("le", ORDERED, "less or equal to"),
    "LT": ("lt", ORDERED, "less than"),
}


def _comparisons() -> list[ElementwiseMethod]:
    """Two methods for each direction; the total order of floats is -nan < -inf < -0 < 0 < inf < nan."""
    methods = []
    for direction, (name, kinds, words) in _COMPARISONS.items():
        gives = f"Whether ``lhs`` is {words} ``rhs``, as pred"
        methods.append(ElementwiseMethod(name, 2, kinds, f"{gives}.", (("direction", direction),)))
        order = "-nan < -inf, -0 < 0 and inf < nan"
        total = (("type", "TOTALORDER"),)
        methods.append(
            ElementwiseMethod(f"{name}_total_order", 2, kinds, f"{gives}; {order}.", methods[-1].attributes, total)
        )
    return methods


METHODS: dict[str, tuple[str | ElementwiseMethod, ...]] = {
    **{opcode: (ElementwiseMethod(name, 1, kinds, gives),) for opcode, (name, kinds, gives) in _UNARY.items()},
    **{opcode: (ElementwiseMethod(name, 2, kinds, gives),) for opcode, (name, kinds, gives) in _BINARY.items()},
    "compare": tuple(_comparisons()),
    "convert": ("convert_element_type",),
}
