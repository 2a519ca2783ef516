"""Dots and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import ConvolutionDimensionNumbers
from ..errors import HlomapError
from ..writing import arguments as check
from ..writing.core import Core
from ..writing.naming import method_named
from ..writing.operands import Operand
from ..writing.values import Ints, Value
from .windows import Padding, window_text


class Products(Core):
    """Methods for dots and convolutions."""

    def dot(self, lhs: Operand, rhs: Operand, *, preferred_element_type: str | None = None) -> Value:
        """The product of vectors or matrices, which contracts the last dimension of ``lhs`` with the first of ``rhs``.

        >>> print(b.dot(b.iota("f32[2,3]"), b.iota("f32[3]")))
        dot = f32[2] dot(iota, iota.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
        """
        left, right = self._factors(lhs, rhs)
        for name, value in (("lhs", left), ("rhs", right)):
            if len(value.dimensions) not in (1, 2):
                raise check.invalid(name, check.described(value), "expected a vector or a matrix")
        contracted = {"lhs_contracting_dims": [len(left.dimensions) - 1], "rhs_contracting_dims": [0]}
        return self._product("dot", [left, right], preferred_element_type, **contracted)

    def dot_general(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        lhs_contracting_dimensions: Ints,
        rhs_contracting_dimensions: Ints,
        lhs_batch_dimensions: Ints = (),
        rhs_batch_dimensions: Ints = (),
        preferred_element_type: str | None = None,
    ) -> Value:
        """Sums of products over the contracting dimensions, for each index of the batch dimensions.

        The result has the batch dimensions, then the remaining dimensions of ``lhs``, then those of ``rhs``.

        >>> b.dot_general(b.iota("f32[7,2,3]"), b.iota("f32[7,3,5]"), lhs_contracting_dimensions=[-1],
        ...               rhs_contracting_dimensions=[1], lhs_batch_dimensions=[0], rhs_batch_dimensions=[0]).shape
        Shape('f32[7,2,5]')
        """
        left, right = self._factors(lhs, rhs)
        batch = (lhs_batch_dimensions, rhs_batch_dimensions)
        contracting = (lhs_contracting_dimensions, rhs_contracting_dimensions)
        given = _dot_dimensions((left, right), batch, contracting)
        return self._product("dot", [left, right], preferred_element_type, **given)

    def ragged_dot(
        self,
        lhs: Operand,
        rhs: Operand,
        group_sizes: Operand,
        *,
        lhs_contracting_dimensions: Ints,
        rhs_contracting_dimensions: Ints,
        lhs_ragged_dimension: int,
        rhs_group_dimensions: Ints = (),
        lhs_batch_dimensions: Ints = (),
        rhs_batch_dimensions: Ints = (),
        preferred_element_type: str | None = None,
    ) -> Value:
        """A :meth:`dot_general` whose rows of ``lhs`` form groups, each with its own matrix in ``rhs``.

        >>> x, y, sizes = b.iota("f32[5,2]"), b.iota("f32[3,2,4]"), b.constant([2, 2, 1])
        >>> b.ragged_dot(x, y, sizes, lhs_contracting_dimensions=[1], rhs_contracting_dimensions=[1],
        ...              lhs_ragged_dimension=0, rhs_group_dimensions=[0]).shape
        Shape('f32[5,4]')
        """
        left, right = self._factors(lhs, rhs)
        groups = self._array_of("group_sizes", group_sizes, "int uint")
        batch = (lhs_batch_dimensions, rhs_batch_dimensions)
        contracting = (lhs_contracting_dimensions, rhs_contracting_dimensions)
        given = _dot_dimensions((left, right), batch, contracting)
        ragged = check.dimension_number("lhs_ragged_dimension", lhs_ragged_dimension, len(left.dimensions))
        group = check.dimension_numbers("rhs_group_dimensions", rhs_group_dimensions, len(right.dimensions))
        given |= {"lhs_ragged_dims": [ragged], "rhs_group_dims": group}
        return self._product("ragged-dot", [left, right, groups], preferred_element_type, **given)

    def conv(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Ints,
        padding: Padding = "VALID",
        lhs_dilation: Ints | None = None,
        rhs_dilation: Ints | None = None,
        *,
        dimension_numbers: str | None = None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        window_reversal: Sequence[bool] = (),
        preferred_element_type: str | None = None,
    ) -> Value:
        """A convolution of (batch, features, spatial…) with a kernel of (output features, input features, spatial…).

        ``padding`` is ``"VALID"`` for none, ``"SAME"`` for an output of ``ceil(size / stride)`` in each dimension, or
        ``(low, high)`` for each spatial dimension; negative padding removes elements.  Dilations of ``d`` insert
        ``d - 1`` zeros between elements: ``lhs_dilation`` of the input, ``rhs_dilation`` of the kernel.

        ``dimension_numbers`` labels dimensions in another order in input, kernel and output, such as
        ``"b01f_01io->b01f"``: batch b, features f, input and output features i and o, spatial dimensions by number.

        >>> b.conv(b.iota("f32[1,2,8,9]"), b.iota("f32[5,2,3,3]"), [1, 2], "SAME").shape
        Shape('f32[1,5,8,5]')
        >>> b.conv(b.iota("f32[1,2,8]"), b.iota("f32[5,2,3]"), [1], [(1, 0)], rhs_dilation=[2]).shape
        Shape('f32[1,5,5]')
        >>> b.conv(b.iota("f32[1,8,9,2]"), b.iota("f32[3,3,2,5]"), [1, 1], dimension_numbers="b01f_01io->b01f").shape
        Shape('f32[1,6,7,5]')
        """
        left, right = self._factors(lhs, rhs)
        rank = len(left.dimensions)
        if rank < 2 or len(right.dimensions) != rank:
            wanted = f"the rank of lhs, {check.described(left)}, which is at least 2"
            rule = f"expected {wanted}: batch, features, spatial dimensions"
            raise check.invalid("rhs", check.described(right), rule)
        space = "".join(map(str, range(rank - 2)))
        labels = check.text("dimension_numbers", dimension_numbers or f"bf{space}_oi{space}->bf{space}")
        try:
            roles = ConvolutionDimensionNumbers.parse(labels)
        except HlomapError:
            roles = None
        if roles is None or "?" in labels or len(roles.input_spatial) != rank - 2:
            rule = f"expected the labels of bf{space}_io{space}->bf{space}, in any order within each part"
            raise check.invalid("dimension_numbers", repr(labels), rule)
        sizes = [left.dimensions[d] for d in roles.input_spatial]
        kernel = [right.dimensions[d] for d in roles.kernel_spatial]
        outer = right.dimensions[roles.kernel_output_feature]
        counts = (("feature_group_count", feature_group_count), ("batch_group_count", batch_group_count))
        for name, count in counts:
            check.at_least(name, count, 1)
            if outer % count:
                rule = f"must divide the {outer} output features of rhs, {check.described(right)}"
                raise check.invalid(name, count, rule)
        names = ("rhs", "window_strides", "lhs_dilation", "rhs_dilation")
        reversal = check.items("window_reversal", window_reversal, "a sequence of bools")
        if not all(isinstance(is_reversed, bool) for is_reversed in reversal):
            raise check.wrong_type("window_reversal", window_reversal, "a sequence of bools")
        window = window_text(sizes, kernel, window_strides, padding, lhs_dilation, rhs_dilation, names, reversal)
        given: dict[str, Any] = {"window": window or None, "dim_labels": labels}
        given |= {name: count for name, count in counts if count != 1}
        return self._product("convolution", [left, right], preferred_element_type, **given)

    @method_named("@")
    def _matmul(self, lhs: Operand, rhs: Operand) -> Value:
        """``@``: a dot, or a dot of matrices batched over equal leading dimensions."""
        left, right = self._factors(lhs, rhs)
        rank = len(left.dimensions)
        if rank < 3 and len(right.dimensions) < 3:
            return self.dot(left, right)
        if len(right.dimensions) != rank or left.dimensions[:-2] != right.dimensions[:-2]:
            rule = f"expected the rank and the leading sizes of lhs, {check.described(left)}; use dot_general otherwise"
            raise check.invalid("rhs", check.described(right), rule)
        batch = range(rank - 2)
        return self.dot_general(
            left,
            right,
            lhs_contracting_dimensions=[-1],
            rhs_contracting_dimensions=[-2],
            lhs_batch_dimensions=batch,
            rhs_batch_dimensions=batch,
        )

    def _factors(self, lhs: Operand, rhs: Operand) -> list[Value]:
        left, right = self._array("lhs", lhs), self._array("rhs", rhs)
        if left.dtype != right.dtype:
            rule = f"expected element type {left.dtype}, that of lhs, {check.described(left)}"
            raise check.invalid("rhs", check.described(right), rule)
        return [left, right]

    def _product(self, opcode: str, operands: list[Value], element: str | None, **given: Any) -> Value:
        """A product with the element type ``element``, by default that of the operands."""
        result = self._emit(opcode, operands, None, **given)
        if element is not None:
            result.shape = check.retyped_shape(element, result.dimensions, "preferred_element_type")
        return result


def _dot_dimensions(
    values: tuple[Value, Value], batch: tuple[Ints, Ints], contracting: tuple[Ints, Ints]
) -> dict[str, list[int]]:
    attributes: dict[str, list[int]] = {}
    for what, given in (("batch", batch), ("contracting", contracting)):
        for side, value, dims in zip(("lhs", "rhs"), values, given, strict=True):
            found = check.dimension_numbers(f"{side}_{what}_dimensions", dims, len(value.dimensions))
            if found:
                attributes[f"{side}_{what}_dims"] = found
    return attributes
