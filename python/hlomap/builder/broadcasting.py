"""How operands of elementwise operations come to one shape: with explicit broadcasts, as XLA's own builder does it.

Read `Broadcasting._matched`: scalars and dimensions of size 1 stretch, and operands of different rank say in
``broadcast_dimensions`` where the smaller one's dimensions lie in the larger.  Which element types an operation takes
stands with it; the reader of HLO text does not look.
"""

from __future__ import annotations

from itertools import takewhile

from .._core import Shape
from ..errors import HlomapError
from .attributes import ints
from .constants import element_kind
from .core import Core
from .values import Ints, Operand, Value, refuse

__all__ = ["Broadcasting", "bit_width"]

_KINDS = {"int": "signed integers", "uint": "unsigned integers", "float": "floats", "complex": "complex numbers"}


class Broadcasting(Core):
    """What the elementwise methods share."""

    def _typed(self, operation: str, argument: str, operand: Operand, kinds: str, like: str | None = None) -> Value:
        """An array of one of these kinds of element types."""
        value = self._array(operation, argument, operand, like)
        if element_kind(value.dtype) not in kinds.split():
            expected = " or ".join(_KINDS.get(kind, kind) for kind in kinds.split())
            raise refuse(operation, argument, f"{value.name} {value.shape}", f"expected {expected}")
        return value

    def _matched(self, operation: str, lhs: Operand, rhs: Operand, places: Ints | None, kinds: str) -> list[Value]:
        """Both operands in the sizes that they have together."""
        like = next((v.dtype for v in (lhs, rhs) if isinstance(v, Value)), None)
        left = self._typed(operation, "lhs", lhs, kinds, like)
        right = self._typed(operation, "rhs", rhs, kinds, like)
        if left.dtype != right.dtype:
            raise refuse(operation, "rhs", f"{right.name} {right.shape}", f"expected {left.dtype} as lhs, {left.shape}")
        small, large = (left, right) if len(left.dimensions) < len(right.dimensions) else (right, left)
        rank = len(large.dimensions)
        if places is not None:
            at = self._dims(operation, "broadcast_dimensions", places, rank)
            if len(at) != len(small.dimensions):
                rule = f"expected {len(small.dimensions)}, one for each dimension of {small.shape}"
                raise refuse(operation, "broadcast_dimensions", list(places), rule)
            if at != sorted(at):
                raise refuse(operation, "broadcast_dimensions", list(places), "expected rising dimension numbers")
            if len(at) == rank:
                places = None
        elif small.dimensions and len(small.dimensions) != rank:
            rule = f"ranks {len(left.dimensions)} and {len(right.dimensions)} need broadcast_dimensions"
            raise refuse(operation, "rhs", f"{right.name} {right.shape}", rule)
        sizes = list(large.dimensions)
        for d, n in zip(range(rank) if places is None else at, small.dimensions, strict=False):
            if n != sizes[d] and 1 not in (n, sizes[d]):
                rule = f"sizes {n} and {sizes[d]} of dimension {d} of {small.shape} and {large.shape} differ"
                raise refuse(operation, "rhs" if places is None else "broadcast_dimensions", places or right.name, rule)
            sizes[d] = n if sizes[d] == 1 else sizes[d]
        if places is not None and small.dimensions:
            middle = list(sizes)
            for d, n in zip(at, small.dimensions, strict=True):
                middle[d] = n
            placed = self._broadcast(operation, small, middle, at)
            left, right = (placed if v is small else v for v in (left, right))
        # Sizes that no operand needs stretched for keep what is known of them, such as that they are bounds.
        if left.dimensions == right.dimensions:
            return [left, right]
        return [self._stretched(operation, v, Shape(v.dtype, sizes)) for v in (left, right)]

    def _stretched(self, operation: str, value: Value, to: Shape) -> Value:
        """The value in the sizes of ``to``: a scalar everywhere, dimensions of size 1 repeated.

        Those are taken away first and come back with the broadcast, which cannot stretch a dimension.
        """
        if value.dimensions == to.dimensions:
            return value
        if not value.dimensions:
            return self._broadcast(operation, value, to.dimensions, [])
        kept = [d for d, (n, m) in enumerate(zip(value.dimensions, to.dimensions, strict=True)) if n == m]
        small = Shape(value.dtype, [value.dimensions[d] for d in kept])
        squeezed = self._emit(operation, "reshape", [value], shape=small)
        return self._broadcast(operation, squeezed, to.dimensions, kept)

    def _broadcast(self, operation: str, value: Value, sizes: Ints, places: Ints) -> Value:
        """A broadcast to these sizes, whose dimension ``places[k]`` is dimension k of the value."""
        shape = self._sized(operation, value.dtype, sizes)
        return self._emit(operation, "broadcast", [value], {"dimensions": ints(places)}, shape)

    def _sized(self, operation: str, dtype: str, sizes: Ints) -> Shape:
        try:
            return Shape(dtype, list(sizes))
        except OverflowError:
            raise refuse(operation, "shape", f"{dtype}{list(sizes)}", "a size that does not fit in 63 bits") from None
        except HlomapError as error:
            raise refuse(operation, "shape", f"{dtype}{list(sizes)}", str(error)) from None

    def _retyped(self, operation: str, value: Value, to: str, sizes: Ints) -> Shape:
        try:
            made = Shape(to, list(sizes))
        except HlomapError as error:
            raise refuse(operation, "new_element_type", repr(to), str(error)) from None
        if bit_width(to) == 0:
            raise refuse(operation, "new_element_type", repr(to), "expected an element type of arrays")
        return made


def bit_width(dtype: str) -> int:
    """The bits of an element, 0 for what is no element type."""
    digits = {"pred": "8", "bf16": "16"}.get(dtype) or "".join(
        takewhile(str.isdigit, dtype[1:]) if dtype[:1] in ("s", "u", "f", "c") else ""
    )
    return int(digits or 0)
