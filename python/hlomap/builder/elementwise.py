"""Elementwise operations: bounds, selection, conversion of the element type.

``unary`` and ``binary`` write the functions of one and of two operands.
"""

from __future__ import annotations

from collections.abc import Mapping

from .arguments import bit_width, described, integer, invalid, retyped_shape
from .attributes import Attribute
from .broadcasting import broadcast_operands, expand
from .constants import element_kind
from .core import Core
from .values import Ints, Operand, Value


def unary(
    b: Core,
    operation: str,
    opcode: str,
    operand: Operand,
    kinds: str,
    attributes: Mapping[str, Attribute] | None = None,
    on_floats: Mapping[str, Attribute] | None = None,
) -> Value:
    """An elementwise operation of one operand; ``on_floats`` holds attributes for floating-point operands only."""
    value = b._array_of(operation, "operand", operand, kinds)
    return _emit(b, operation, opcode, [value], attributes, on_floats)


def binary(
    b: Core,
    operation: str,
    opcode: str,
    lhs: Operand,
    rhs: Operand,
    broadcast_dimensions: Ints | None,
    kinds: str,
    attributes: Mapping[str, Attribute] | None = None,
    on_floats: Mapping[str, Attribute] | None = None,
) -> Value:
    """An elementwise operation of two operands, which are broadcast to one shape."""
    values = broadcast_operands(b, operation, lhs, rhs, broadcast_dimensions, kinds)
    return _emit(b, operation, opcode, values, attributes, on_floats)


def _emit(
    b: Core,
    operation: str,
    opcode: str,
    values: list[Value],
    attributes: Mapping[str, Attribute] | None,
    on_floats: Mapping[str, Attribute] | None,
) -> Value:
    more = on_floats if element_kind(values[0].dtype) == "float" else None
    return b._emit(operation, opcode, values, {**(attributes or {}), **(more or {})})


class Elementwise(Core):
    """Elementwise methods that need more than the checks of :func:`unary` and :func:`binary`."""

    def clamp(self, min: Operand, operand: Operand, max: Operand) -> Value:
        """``min(max(operand, min), max)``.  A bound has the operand's shape or is a scalar.

        >>> print(b.clamp(0, b.constant([-1, 5, 9]), 6))
        clamp = s32[3] clamp(broadcast, constant, broadcast.1)
        """
        value = self._array("clamp", "operand", operand)
        bounds = [self._array("clamp", name, bound, value.dtype) for name, bound in (("min", min), ("max", max))]
        low, high = (bound if bound.dimensions else expand(self, "clamp", bound, value.shape) for bound in bounds)
        return self._emit("clamp", "clamp", [low, value, high])

    def select(self, pred: Operand, on_true: Operand, on_false: Operand) -> Value:
        """Elements of ``on_true`` where ``pred`` is true, and of ``on_false`` elsewhere.

        All three have the same sizes; scalars are broadcast.  A scalar ``pred`` also selects between two tuples of the
        same shape, element by element of the tuple.

        >>> print(b.select(b.constant([True, False]), b.constant([1, 2]), 0))
        select = s32[2] select(constant, constant.1, broadcast)
        """
        mask = self._array("select", "pred", pred)
        if isinstance(on_true, Value) and on_true.shape.is_tuple:
            other = self._value("select", "on_false", on_false)
            if mask.dimensions or other.shape.without_layout() != on_true.shape.without_layout():
                rule = f"expected a scalar and two tuples of the same shape, found {on_true.shape} and {other.shape}"
                raise invalid("select", "pred", described(mask), rule)
            parts = [self.select(mask, a, c) for a, c in zip(on_true, other, strict=True)]
            return self._emit("select", "tuple", parts)
        like = next((v.dtype for v in (on_true, on_false) if isinstance(v, Value)), None)
        yes = self._array("select", "on_true", on_true, like)
        no = self._array("select", "on_false", on_false, like)
        full = next((v.shape for v in (yes, no, mask) if v.dimensions), yes.shape)
        operands = [v if v.dimensions else expand(self, "select", v, full) for v in (mask, yes, no)]
        return self._emit("select", "select", operands)

    def convert_element_type(self, operand: Operand, new_element_type: str) -> Value:
        """The elements converted to another type; floats are truncated to integers, integers rounded to floats.

        A conversion from a complex to a real type keeps the real part.

        >>> print(b.convert_element_type(b.constant([0, 1, 2]), "f32"))
        convert = f32[3] convert(constant)
        """
        value = self._array("convert_element_type", "operand", operand)
        shape = retyped_shape("convert_element_type", new_element_type, value.dimensions)
        if element_kind(value.dtype) == "complex" and element_kind(new_element_type) != "complex":
            value = self._emit("convert_element_type", "real", [value])
        return self._emit("convert_element_type", "convert", [value], shape=shape)

    def bitcast_convert_type(self, operand: Operand, new_element_type: str) -> Value:
        """The bits reinterpreted as another element type.

        A narrower type adds a minor dimension that holds the pieces of each element; a wider type removes the last
        dimension, whose size must be the ratio of the widths.

        >>> print(b.bitcast_convert_type(b.parameter(0, "f32[10]", "x"), "f16"))
        bitcast-convert = f16[10,2] bitcast-convert(x)
        """
        value = self._array("bitcast_convert_type", "operand", operand)
        sizes = value.dimensions
        retyped_shape("bitcast_convert_type", new_element_type, ())
        wide, narrow = bit_width(value.dtype), bit_width(new_element_type)
        if wide > narrow:
            sizes = (*sizes, wide // narrow)
        elif wide < narrow:
            sizes = sizes[:-1]
        shape = retyped_shape("bitcast_convert_type", new_element_type, sizes)
        return self._emit("bitcast_convert_type", "bitcast-convert", [value], shape=shape)

    def stochastic_convert(self, operand: Operand, random: Operand, new_element_type: str) -> Value:
        """Floats converted with stochastic rounding.

        ``random`` holds the random bits: unsigned integers with the width and the sizes of the operand.

        >>> print(b.stochastic_convert(b.parameter(0, "f32[2]", "x"), b.parameter(1, "u32[2]", "r"), "bf16"))
        stochastic-convert = bf16[2] stochastic-convert(x, r)
        """
        value = self._array("stochastic_convert", "operand", operand)
        bits = self._array("stochastic_convert", "random", random)
        shape = retyped_shape("stochastic_convert", new_element_type, value.dimensions)
        return self._emit("stochastic_convert", "stochastic-convert", [value, bits], shape=shape)

    def reduce_precision(self, operand: Operand, exponent_bits: int, mantissa_bits: int) -> Value:
        """Floats rounded to a format with these numbers of bits; the element type stays.

        >>> print(b.reduce_precision(b.constant([0.1]), exponent_bits=5, mantissa_bits=10))
        reduce-precision = f32[1] reduce-precision(constant), exponent_bits=5, mantissa_bits=10
        """
        value = self._array("reduce_precision", "operand", operand)
        exponent = integer("reduce_precision", "exponent_bits", exponent_bits)
        mantissa = integer("reduce_precision", "mantissa_bits", mantissa_bits)
        attributes = {"exponent_bits": str(exponent), "mantissa_bits": str(mantissa)}
        return self._emit("reduce_precision", "reduce-precision", [value], attributes, value.shape.without_layout())
