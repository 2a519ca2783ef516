"""Functions and comparisons of two operands, element by element.

Read :meth:`Binary.add`: all bring their operands to one shape in the same way and differ in opcode and element types.
"""

from __future__ import annotations

from .stretching import ANY
from .unary import Unary
from .values import Ints, Operand, Value

__all__ = ["Binary"]


class Binary(Unary):
    """The methods of a builder for functions of two operands."""

    def add(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The sum; of pred ``or``.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.add(b.constant([7, 8]), 2))
        add = s32[2] add(constant, broadcast)
        """
        return self._binary("add", "add", lhs, rhs, broadcast_dimensions, ANY)

    def sub(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The difference.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.sub(b.constant([7, 8]), 2))
        subtract = s32[2] subtract(constant, broadcast)
        """
        return self._binary("sub", "subtract", lhs, rhs, broadcast_dimensions, "int uint float complex")

    def mul(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The product; of pred ``and``.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.mul(b.constant([7, 8]), 2))
        multiply = s32[2] multiply(constant, broadcast)
        """
        return self._binary("mul", "multiply", lhs, rhs, broadcast_dimensions, ANY)

    def div(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The quotient; of integers rounded to zero.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.div(b.constant([7, 8]), 2))
        divide = s32[2] divide(constant, broadcast)
        """
        return self._binary("div", "divide", lhs, rhs, broadcast_dimensions, "int uint float complex")

    def rem(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The remainder, with the sign of ``lhs``.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.rem(b.constant([7, 8]), 2))
        remainder = s32[2] remainder(constant, broadcast)
        """
        return self._binary("rem", "remainder", lhs, rhs, broadcast_dimensions, "int uint float complex")

    def pow(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs`` to the power of ``rhs``.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.pow(b.constant([7, 8]), 2))
        power = s32[2] power(constant, broadcast)
        """
        return self._binary("pow", "power", lhs, rhs, broadcast_dimensions, "int uint float complex")

    def max(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The larger of both; nan where one is.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.max(b.constant([7, 8]), 2))
        maximum = s32[2] maximum(constant, broadcast)
        """
        return self._binary("max", "maximum", lhs, rhs, broadcast_dimensions, ANY)

    def min(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The smaller of both; nan where one is.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.min(b.constant([7, 8]), 2))
        minimum = s32[2] minimum(constant, broadcast)
        """
        return self._binary("min", "minimum", lhs, rhs, broadcast_dimensions, ANY)

    def and_(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The bits that both have; of pred both.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.and_(b.constant([7, 8]), 2))
        and = s32[2] and(constant, broadcast)
        """
        return self._binary("and_", "and", lhs, rhs, broadcast_dimensions, "pred int uint")

    def or_(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The bits that one has; of pred either.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.or_(b.constant([7, 8]), 2))
        or = s32[2] or(constant, broadcast)
        """
        return self._binary("or_", "or", lhs, rhs, broadcast_dimensions, "pred int uint")

    def xor(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The bits that only one has; of pred not both.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.xor(b.constant([7, 8]), 2))
        xor = s32[2] xor(constant, broadcast)
        """
        return self._binary("xor", "xor", lhs, rhs, broadcast_dimensions, "pred int uint")

    def mulhi(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The upper half of the product.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.mulhi(b.constant([7, 8]), 2))
        mulhi = s32[2] mulhi(constant, broadcast)
        """
        return self._binary("mulhi", "mulhi", lhs, rhs, broadcast_dimensions, "int uint")

    def shift_left(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs * 2 ** rhs``, bits above the width lost.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.shift_left(b.constant([7, 8]), 2))
        shift-left = s32[2] shift-left(constant, broadcast)
        """
        return self._binary("shift_left", "shift-left", lhs, rhs, broadcast_dimensions, "int uint")

    def shift_right_arithmetic(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs`` shifted by ``rhs`` bits, the sign bit repeated.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.shift_right_arithmetic(b.constant([7, 8]), 2))
        shift-right-arithmetic = s32[2] shift-right-arithmetic(constant, broadcast)
        """
        return self._binary(
            "shift_right_arithmetic", "shift-right-arithmetic", lhs, rhs, broadcast_dimensions, "int uint"
        )

    def shift_right_logical(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """``lhs`` shifted by ``rhs`` bits, zeros in front.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.shift_right_logical(b.constant([7, 8]), 2))
        shift-right-logical = s32[2] shift-right-logical(constant, broadcast)
        """
        return self._binary("shift_right_logical", "shift-right-logical", lhs, rhs, broadcast_dimensions, "int uint")

    def atan2(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """The angle of the point ``(rhs, lhs)``.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.atan2(b.constant([1.0]), 2.0))
        atan2 = f32[1] atan2(constant, broadcast)
        """
        return self._binary("atan2", "atan2", lhs, rhs, broadcast_dimensions, "float complex")

    def complex(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Complex numbers from real and imaginary parts in f32 or f64.

        Scalars and sizes of 1 stretch; operands of different rank need ``broadcast_dimensions``: the dimension of the
        larger one that each dimension of the smaller one is.  Raises :class:`~hlomap.ShapeError` where they do not fit.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.complex(1.0, 2.0))
        complex = c64[] complex(constant, constant.1)
        """
        return self._binary("complex", "complex", lhs, rhs, broadcast_dimensions, "float")

    def eq(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is equal to ``rhs``, as pred; operands as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.eq(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=EQ
        """
        return self._compare("eq", "EQ", lhs, rhs, broadcast_dimensions)

    def ne(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is not equal to ``rhs``, as pred; operands as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.ne(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=NE
        """
        return self._compare("ne", "NE", lhs, rhs, broadcast_dimensions)

    def ge(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater or equal to ``rhs``, as pred; operands as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.ge(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=GE
        """
        return self._compare("ge", "GE", lhs, rhs, broadcast_dimensions)

    def gt(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater than ``rhs``, as pred; operands as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.gt(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=GT
        """
        return self._compare("gt", "GT", lhs, rhs, broadcast_dimensions)

    def le(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less or equal to ``rhs``, as pred; operands as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.le(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=LE
        """
        return self._compare("le", "LE", lhs, rhs, broadcast_dimensions)

    def lt(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less than ``rhs``, as pred; operands as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.lt(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=LT
        """
        return self._compare("lt", "LT", lhs, rhs, broadcast_dimensions)

    def eq_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is equal to ``rhs``, with -nan < -inf, -0 < +0 and inf < nan.

        The result is pred; operands are as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.eq_total_order(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=EQ, type=TOTALORDER
        """
        return self._compare("eq_total_order", "EQ", lhs, rhs, broadcast_dimensions)

    def ne_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is not equal to ``rhs``, with -nan < -inf, -0 < +0 and inf < nan.

        The result is pred; operands are as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.ne_total_order(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=NE, type=TOTALORDER
        """
        return self._compare("ne_total_order", "NE", lhs, rhs, broadcast_dimensions)

    def ge_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater or equal to ``rhs``, with -nan < -inf, -0 < +0 and inf < nan.

        The result is pred; operands are as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.ge_total_order(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=GE, type=TOTALORDER
        """
        return self._compare("ge_total_order", "GE", lhs, rhs, broadcast_dimensions)

    def gt_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is greater than ``rhs``, with -nan < -inf, -0 < +0 and inf < nan.

        The result is pred; operands are as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.gt_total_order(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=GT, type=TOTALORDER
        """
        return self._compare("gt_total_order", "GT", lhs, rhs, broadcast_dimensions)

    def le_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less or equal to ``rhs``, with -nan < -inf, -0 < +0 and inf < nan.

        The result is pred; operands are as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.le_total_order(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=LE, type=TOTALORDER
        """
        return self._compare("le_total_order", "LE", lhs, rhs, broadcast_dimensions)

    def lt_total_order(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Ints | None = None) -> Value:
        """Whether ``lhs`` is less than ``rhs``, with -nan < -inf, -0 < +0 and inf < nan.

        The result is pred; operands are as in :meth:`add`.

        >>> import hlomap as hm
        >>> b = hm.Builder("m")
        >>> print(b.lt_total_order(b.constant([1.0, 2.0]), 2.0))
        compare = pred[2] compare(constant, broadcast), direction=LT, type=TOTALORDER
        """
        return self._compare("lt_total_order", "LT", lhs, rhs, broadcast_dimensions)
