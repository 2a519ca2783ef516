"""Elementwise operations: bounds, selection, conversion of the element type."""

from __future__ import annotations

from ..base.dtypes import bit_width
from ..writing import arguments as check
from ..writing.constants import element_kind
from ..writing.core import Core
from ..writing.operands import Operand
from ..writing.values import Value
from .broadcasting import expand


class Elementwise(Core):
    """Elementwise methods that are more than a function of one or two operands."""

    def clamp(self, min: Operand, operand: Operand, max: Operand) -> Value:
        """``min(max(operand, min), max)``.  A bound has the operand's shape or is a scalar.

        >>> print(b.clamp(0, b.constant([-1, 5, 9]), 6))
        clamp = s32[3] clamp(broadcast, constant, broadcast.1)
        """
        value = self._array("operand", operand)
        bounds = [self._array(name, bound, value.dtype) for name, bound in (("min", min), ("max", max))]
        low, high = (bound if bound.dimensions else expand(self, bound, value.shape) for bound in bounds)
        return self._emit("clamp", [low, value, high])

    def select(self, pred: Operand, on_true: Operand, on_false: Operand) -> Value:
        """Elements of ``on_true`` where ``pred`` is true, and of ``on_false`` elsewhere.

        All three have the same sizes; scalars are broadcast.  A scalar ``pred`` also selects between two tuples of the
        same shape, element by element of the tuple.

        >>> print(b.select(b.constant([True, False]), b.constant([1, 2]), 0))
        select = s32[2] select(constant, constant.1, broadcast)
        """
        mask = self._array("pred", pred)
        if isinstance(on_true, Value) and on_true.shape.is_tuple:
            other = self._value("on_false", on_false)
            if mask.dimensions or other.shape.without_layout() != on_true.shape.without_layout():
                rule = f"expected a scalar and two tuples of the same shape, found {on_true.shape} and {other.shape}"
                raise check.invalid("pred", check.described(mask), rule)
            parts = [self.select(mask, a, c) for a, c in zip(on_true, other, strict=True)]
            return self._emit("tuple", parts)
        like = next((v.dtype for v in (on_true, on_false) if isinstance(v, Value)), None)
        yes = self._array("on_true", on_true, like)
        no = self._array("on_false", on_false, like)
        full = next((v.shape for v in (yes, no, mask) if v.dimensions), yes.shape)
        operands = [v if v.dimensions else expand(self, v, full) for v in (mask, yes, no)]
        return self._emit("select", operands)

    def _shift_right(self, lhs: Operand, rhs: Operand) -> Value:
        """``>>``: arithmetic for signed integers, logical for unsigned ones."""
        like = lhs if isinstance(lhs, Value) else rhs
        kind = "arithmetic" if isinstance(like, Value) and like.dtype.startswith("s") else "logical"
        made: Value = getattr(self, f"shift_right_{kind}")(lhs, rhs)
        return made

    def convert_element_type(self, operand: Operand, new_element_type: str) -> Value:
        """The elements converted to another type; floats are truncated to integers, integers rounded to floats.

        A conversion from a complex to a real type keeps the real part.

        >>> print(b.convert_element_type(b.constant([0, 1, 2]), "f32"))
        convert = f32[3] convert(constant)
        """
        value = self._array("operand", operand)
        shape = check.retyped_shape(new_element_type, value.dimensions)
        if element_kind(value.dtype) == "complex" and element_kind(new_element_type) != "complex":
            value = self._emit("real", [value])
        return self._emit("convert", [value], shape)

    def bitcast_convert_type(self, operand: Operand, new_element_type: str) -> Value:
        """The bits reinterpreted as another element type.

        A narrower type adds a minor dimension that holds the pieces of each element; a wider type removes the last
        dimension, whose size must be the ratio of the widths.

        >>> print(b.bitcast_convert_type(b.parameter(0, "f32[10]", "x"), "f16"))
        bitcast-convert = f16[10,2] bitcast-convert(x)
        >>> print(b.bitcast_convert_type(b.parameter(1, "f4e2m1fn[3,2]", "y"), "s8"))
        bitcast-convert.1 = s8[3] bitcast-convert(y)
        """
        value = self._array("operand", operand)
        sizes = value.dimensions
        check.retyped_shape(new_element_type, ())
        wide, narrow = (8 if dtype == "pred" else bit_width(dtype) for dtype in (value.dtype, new_element_type))
        if wide > narrow:
            sizes = (*sizes, wide // narrow)
        elif wide < narrow:
            sizes = sizes[:-1]
        return self._emit("bitcast-convert", [value], check.retyped_shape(new_element_type, sizes))

    def stochastic_convert(self, operand: Operand, random: Operand, new_element_type: str) -> Value:
        """Floats converted with stochastic rounding.

        ``random`` holds the random bits: unsigned integers with the width and the sizes of the operand.

        >>> print(b.stochastic_convert(b.parameter(0, "f32[2]", "x"), b.parameter(1, "u32[2]", "r"), "bf16"))
        stochastic-convert = bf16[2] stochastic-convert(x, r)
        """
        value, bits = self._array("operand", operand), self._array("random", random)
        return self._emit("stochastic-convert", [value, bits], check.retyped_shape(new_element_type, value.dimensions))

    def reduce_precision(self, operand: Operand, exponent_bits: int, mantissa_bits: int) -> Value:
        """Floats rounded to a format with these numbers of bits; the element type stays.

        >>> print(b.reduce_precision(b.constant([0.1]), exponent_bits=5, mantissa_bits=10))
        reduce-precision = f32[1] reduce-precision(constant), exponent_bits=5, mantissa_bits=10
        """
        value = self._array("operand", operand)
        bits = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
        return self._emit("reduce-precision", [value], value.shape.without_layout(), **bits)
