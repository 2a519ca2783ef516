"""Element by element: bounds, choices between values, changes of the element type.

Read :meth:`Elementwise.select`.  The functions of one and of two operands are made in `attribute_methods`.
"""

from __future__ import annotations

from .broadcasting import Broadcasting, bit_width
from .constants import element_kind
from .values import Operand, Value, refuse

__all__ = ["Elementwise"]


class Elementwise(Broadcasting):
    """The methods of a builder that compute element by element."""

    def clamp(self, min: Operand, operand: Operand, max: Operand) -> Value:
        """``min(max(operand, min), max)``; a bound is of the operand's shape or a scalar.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.clamp(0, b.constant([-1, 5, 9]), 6))
        clamp = s32[3] clamp(broadcast, constant, broadcast.1)
        """
        value = self._array("clamp", "operand", operand)
        bounds = [self._array("clamp", name, bound, value.dtype) for name, bound in (("min", min), ("max", max))]
        for name, bound in zip(("min", "max"), bounds, strict=True):
            if bound.dtype != value.dtype or bound.dimensions not in ((), value.dimensions):
                rule = f"expected {value.shape} as the operand, or a scalar"
                raise refuse("clamp", name, f"{bound.name} {bound.shape}", rule)
        low, high = (self._stretched("clamp", bound, value.shape) for bound in bounds)
        return self._emit("clamp", "clamp", [low, value, high])

    def select(self, pred: Operand, on_true: Operand, on_false: Operand) -> Value:
        """Elements of ``on_true`` where ``pred`` holds, else of ``on_false``, both of one shape.

        A scalar ``pred`` chooses between the whole of both, which may then be tuples; numbers stretch.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.select(b.constant([True, False]), b.constant([1, 2]), 0))
        select = s32[2] select(constant, constant.1, broadcast)
        """
        chooser = self._array("select", "pred", pred)
        if chooser.dtype != "pred":
            raise refuse("select", "pred", f"{chooser.name} {chooser.shape}", "expected pred")
        if isinstance(on_true, Value) and on_true.shape.is_tuple:
            other = self._value("select", "on_false", on_false)
            if chooser.dimensions or other.shape.without_layout() != on_true.shape.without_layout():
                rule = f"tuples of one shape and a scalar, not {on_true.shape}, {other.shape} and {chooser.shape}"
                raise refuse("select", "pred", chooser.name, rule)
            parts = [self.select(chooser, a, c) for a, c in zip(on_true, other, strict=True)]
            return self._emit("select", "tuple", parts)
        like = next((v.dtype for v in (on_true, on_false) if isinstance(v, Value)), None)
        yes = self._array("select", "on_true", on_true, like)
        no = self._array("select", "on_false", on_false, like)
        full = next((v.shape for v in (yes, no, chooser) if v.dimensions), yes.shape)
        if yes.dtype != no.dtype:
            raise refuse("select", "on_false", f"{no.name} {no.shape}", f"expected {yes.dtype} as on_true")
        for name, value in (("pred", chooser), ("on_true", yes), ("on_false", no)):
            if value.dimensions not in ((), full.dimensions):
                rule = f"expected the sizes {list(full.dimensions)} of the others, or a scalar"
                raise refuse("select", name, f"{value.name} {value.shape}", rule)
        return self._emit("select", "select", [self._stretched("select", v, full) for v in (chooser, yes, no)])

    def convert_element_type(self, operand: Operand, new_element_type: str) -> Value:
        """The numbers in another element type; floats to integers are cut off, integers to floats rounded.

        Of complex numbers the real part, where the new ones are not complex.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.convert_element_type(b.constant([0, 1, 2]), "f32"))
        convert = f32[3] convert(constant)
        """
        value = self._array("convert_element_type", "operand", operand)
        shape = self._retyped("convert_element_type", value, new_element_type, value.dimensions)
        if element_kind(value.dtype) == "complex" and element_kind(new_element_type) != "complex":
            value = self._emit("convert_element_type", "real", [value])
        return self._emit("convert_element_type", "convert", [value], shape=shape)

    def bitcast_convert_type(self, operand: Operand, new_element_type: str) -> Value:
        """The bits as another element type: narrower ones in a new last dimension, wider ones from the last dimension.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.bitcast_convert_type(b.parameter(0, "f32[10]", "x"), "f16"))
        bitcast-convert = f16[10,2] bitcast-convert(x)
        """
        value = self._array("bitcast_convert_type", "operand", operand)
        sizes = value.dimensions
        self._retyped("bitcast_convert_type", value, new_element_type, ())
        wide, narrow = bit_width(value.dtype), bit_width(new_element_type)
        if wide > narrow:
            sizes = (*sizes, wide // narrow)
        elif wide < narrow:
            if not sizes or sizes[-1] * wide != narrow:
                rule = f"the last dimension of {value.shape} must be {narrow // wide}, the ratio of the widths"
                raise refuse("bitcast_convert_type", "new_element_type", repr(new_element_type), rule)
            sizes = sizes[:-1]
        shape = self._retyped("bitcast_convert_type", value, new_element_type, sizes)
        return self._emit("bitcast_convert_type", "bitcast-convert", [value], shape=shape)

    def stochastic_convert(self, operand: Operand, random: Operand, new_element_type: str) -> Value:
        """Floats rounded up or down with chances that the bits of ``random``, unsigned integers as wide, decide.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.stochastic_convert(b.parameter(0, "f32[2]", "x"), b.parameter(1, "u32[2]", "r"), "bf16"))
        stochastic-convert = bf16[2] stochastic-convert(x, r)
        """
        value = self._typed("stochastic_convert", "operand", operand, "float")
        bits = self._typed("stochastic_convert", "random", random, "uint")
        if bits.dimensions != value.dimensions or bit_width(bits.dtype) != bit_width(value.dtype):
            rule = f"expected u{bit_width(value.dtype)}{list(value.dimensions)} for {value.shape}"
            raise refuse("stochastic_convert", "random", f"{bits.name} {bits.shape}", rule)
        shape = self._retyped("stochastic_convert", value, new_element_type, value.dimensions)
        return self._emit("stochastic_convert", "stochastic-convert", [value, bits], shape=shape)

    def reduce_precision(self, operand: Operand, exponent_bits: int, mantissa_bits: int) -> Value:
        """Floats rounded to a format with so many bits, in the type they have.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.reduce_precision(b.constant([0.1]), exponent_bits=5, mantissa_bits=10))
        reduce-precision = f32[1] reduce-precision(constant), exponent_bits=5, mantissa_bits=10
        """
        value = self._typed("reduce_precision", "operand", operand, "float")
        if exponent_bits < 1:
            raise refuse("reduce_precision", "exponent_bits", exponent_bits, "expected at least 1")
        if mantissa_bits < 0:
            raise refuse("reduce_precision", "mantissa_bits", mantissa_bits, "expected at least 0")
        attributes = {"exponent_bits": str(exponent_bits), "mantissa_bits": str(mantissa_bits)}
        return self._emit("reduce_precision", "reduce-precision", [value], attributes, value.shape.without_layout())
