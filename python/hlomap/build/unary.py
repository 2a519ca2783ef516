"""Functions of one operand, element by element.

Read any method: all write one instruction of the operand's sizes and differ in opcode and element types alone.
"""

from __future__ import annotations

from .stretching import ANY, Stretching
from .values import Operand, Value

__all__ = ["Unary"]


class Unary(Stretching):
    """The methods of a builder for functions of one operand."""

    def abs(self, operand: Operand) -> Value:
        """``|x|``, of a complex number a real one.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.abs(b.constant([-1.5, 2.0])))
        abs = f32[2] abs(constant)
        """
        return self._unary("abs", "abs", operand, "int float complex")

    def acos(self, operand: Operand) -> Value:
        """The arc cosine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.acos(b.constant([0.5])))
        acos = f32[1] acos(constant)
        """
        return self._unary("acos", "acos", operand, "float complex")

    def acosh(self, operand: Operand) -> Value:
        """The inverse hyperbolic cosine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.acosh(b.constant([2.0])))
        acosh = f32[1] acosh(constant)
        """
        return self._unary("acosh", "acosh", operand, "float complex")

    def asin(self, operand: Operand) -> Value:
        """The arc sine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.asin(b.constant([0.5])))
        asin = f32[1] asin(constant)
        """
        return self._unary("asin", "asin", operand, "float complex")

    def asinh(self, operand: Operand) -> Value:
        """The inverse hyperbolic sine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.asinh(b.constant([0.5])))
        asinh = f32[1] asinh(constant)
        """
        return self._unary("asinh", "asinh", operand, "float complex")

    def atanh(self, operand: Operand) -> Value:
        """The inverse hyperbolic tangent.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.atanh(b.constant([0.5])))
        atanh = f32[1] atanh(constant)
        """
        return self._unary("atanh", "atanh", operand, "float complex")

    def cbrt(self, operand: Operand) -> Value:
        """The cube root.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.cbrt(b.constant([8.0])))
        cbrt = f32[1] cbrt(constant)
        """
        return self._unary("cbrt", "cbrt", operand, "float")

    def ceil(self, operand: Operand) -> Value:
        """The least integer that is not below.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.ceil(b.constant([1.5])))
        ceil = f32[1] ceil(constant)
        """
        return self._unary("ceil", "ceil", operand, "float")

    def clz(self, operand: Operand) -> Value:
        """The number of zero bits above the highest set one.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.clz(b.constant([1, 255])))
        count-leading-zeros = s32[2] count-leading-zeros(constant)
        """
        return self._unary("clz", "count-leading-zeros", operand, "int uint")

    def copy(self, operand: Operand) -> Value:
        """The value itself, in memory of its own.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.copy(b.constant([1, 2])))
        copy = s32[2] copy(constant)
        """
        return self._unary("copy", "copy", operand, ANY)

    def cos(self, operand: Operand) -> Value:
        """The cosine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.cos(b.constant([0.5])))
        cosine = f32[1] cosine(constant)
        """
        return self._unary("cos", "cosine", operand, "float complex")

    def cosh(self, operand: Operand) -> Value:
        """The hyperbolic cosine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.cosh(b.constant([0.5])))
        cosh = f32[1] cosh(constant)
        """
        return self._unary("cosh", "cosh", operand, "float complex")

    def erf(self, operand: Operand) -> Value:
        """The error function.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.erf(b.constant([0.5])))
        erf = f32[1] erf(constant)
        """
        return self._unary("erf", "erf", operand, "float")

    def exp(self, operand: Operand) -> Value:
        """``e ** x``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.exp(b.constant([0.5])))
        exponential = f32[1] exponential(constant)
        """
        return self._unary("exp", "exponential", operand, "float complex")

    def expm1(self, operand: Operand) -> Value:
        """``e ** x - 1``, precise near zero.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.expm1(b.constant([0.5])))
        exponential-minus-one = f32[1] exponential-minus-one(constant)
        """
        return self._unary("expm1", "exponential-minus-one", operand, "float complex")

    def floor(self, operand: Operand) -> Value:
        """The greatest integer that is not above.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.floor(b.constant([1.5])))
        floor = f32[1] floor(constant)
        """
        return self._unary("floor", "floor", operand, "float")

    def imag(self, operand: Operand) -> Value:
        """The imaginary part; of real numbers zero.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.imag(b.constant([1.0 + 2.0j])))
        imag = f32[1] imag(constant)
        """
        return self._unary("imag", "imag", operand, "float complex")

    def is_finite(self, operand: Operand) -> Value:
        """Whether a number is neither infinite nor nan, as pred.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.is_finite(b.constant([0.5])))
        is-finite = pred[1] is-finite(constant)
        """
        return self._unary("is_finite", "is-finite", operand, "float")

    def log(self, operand: Operand) -> Value:
        """The natural logarithm.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.log(b.constant([0.5])))
        log = f32[1] log(constant)
        """
        return self._unary("log", "log", operand, "float complex")

    def log1p(self, operand: Operand) -> Value:
        """``ln(1 + x)``, precise near zero.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.log1p(b.constant([0.5])))
        log-plus-one = f32[1] log-plus-one(constant)
        """
        return self._unary("log1p", "log-plus-one", operand, "float complex")

    def logistic(self, operand: Operand) -> Value:
        """``1 / (1 + e ** -x)``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.logistic(b.constant([0.5])))
        logistic = f32[1] logistic(constant)
        """
        return self._unary("logistic", "logistic", operand, "float complex")

    def neg(self, operand: Operand) -> Value:
        """``-x``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.neg(b.constant([1, 2])))
        negate = s32[2] negate(constant)
        """
        return self._unary("neg", "negate", operand, "int uint float complex")

    def not_(self, operand: Operand) -> Value:
        """Every bit turned; of pred the other truth.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.not_(b.constant([True, False])))
        not = pred[2] not(constant)
        """
        return self._unary("not_", "not", operand, "pred int uint")

    def population_count(self, operand: Operand) -> Value:
        """The number of bits that are set.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.population_count(b.constant([1, 255])))
        popcnt = s32[2] popcnt(constant)
        """
        return self._unary("population_count", "popcnt", operand, "int uint")

    def real(self, operand: Operand) -> Value:
        """The real part; of real numbers the number.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.real(b.constant([1.0 + 2.0j])))
        real = f32[1] real(constant)
        """
        return self._unary("real", "real", operand, "float complex")

    def round(self, operand: Operand) -> Value:
        """The nearest integer, halves away from zero.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.round(b.constant([0.5])))
        round-nearest-afz = f32[1] round-nearest-afz(constant)
        """
        return self._unary("round", "round-nearest-afz", operand, "float")

    def round_nearest_even(self, operand: Operand) -> Value:
        """The nearest integer, halves to the even one.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.round_nearest_even(b.constant([0.5])))
        round-nearest-even = f32[1] round-nearest-even(constant)
        """
        return self._unary("round_nearest_even", "round-nearest-even", operand, "float")

    def rsqrt(self, operand: Operand) -> Value:
        """``1 / sqrt(x)``.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rsqrt(b.constant([4.0])))
        rsqrt = f32[1] rsqrt(constant)
        """
        return self._unary("rsqrt", "rsqrt", operand, "float complex")

    def sign(self, operand: Operand) -> Value:
        """-1, 0 or 1; a zero keeps its sign and a nan stays.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.sign(b.constant([-3, 4])))
        sign = s32[2] sign(constant)
        """
        return self._unary("sign", "sign", operand, "int float complex")

    def sin(self, operand: Operand) -> Value:
        """The sine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.sin(b.constant([0.5])))
        sine = f32[1] sine(constant)
        """
        return self._unary("sin", "sine", operand, "float complex")

    def sinh(self, operand: Operand) -> Value:
        """The hyperbolic sine.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.sinh(b.constant([0.5])))
        sinh = f32[1] sinh(constant)
        """
        return self._unary("sinh", "sinh", operand, "float complex")

    def sqrt(self, operand: Operand) -> Value:
        """The square root.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.sqrt(b.constant([4.0])))
        sqrt = f32[1] sqrt(constant)
        """
        return self._unary("sqrt", "sqrt", operand, "float complex")

    def tan(self, operand: Operand) -> Value:
        """The tangent.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.tan(b.constant([0.5])))
        tan = f32[1] tan(constant)
        """
        return self._unary("tan", "tan", operand, "float complex")

    def tanh(self, operand: Operand) -> Value:
        """The hyperbolic tangent.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.tanh(b.constant([0.5])))
        tanh = f32[1] tanh(constant)
        """
        return self._unary("tanh", "tanh", operand, "float complex")
