"""Converts layouts to NumPy strides, CuTe's nested shape:stride, and linear layouts over bits.

All three notations give each mixed-radix digit of an index a stride in memory (:func:`digits`), so a layout converts
exactly if it has such strides; otherwise the result is an :class:`Unknown` with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .._core import Shape, strides
from ..answers import Unknown

Nested: TypeAlias = "int | tuple[Nested, ...]"


class Digit(NamedTuple):
    """One mixed-radix digit of an index: its size, its weight in the index, and its stride in memory, in elements."""

    size: int
    weight: int
    stride: int


def digits(shape: Shape) -> tuple[tuple[Digit, ...], ...] | Unknown:
    """The digits of each dimension's index, minor first; a dimension of size 1 has none.

    Unknown where a tile splits a dimension unevenly.

    >>> digits(Shape.parse("f32[4,6]{1,0:T(2,2)}"))[1]
    (Digit(size=2, weight=1, stride=1), Digit(size=3, weight=2, stride=4))
    >>> digits(Shape.parse("f32[3,5]{1,0:T(2,2)}"))
    Unknown(reason='a tile of size 2 splits dimension 0 of size 3 unevenly')
    """
    found = strides(shape)
    if isinstance(found, str):
        return Unknown(found)
    return tuple(tuple(Digit(*digit) for digit in dim_digits) for dim_digits in found)


# ------------------------------------------------------------------------------------------------------ NumPy strides


def to_strides(shape: Shape) -> tuple[int, ...] | Unknown:
    """The strides in bytes with which a NumPy view of the buffer is the array.

    Unknown where a dimension has more than one stride, or elements do not take whole bytes.

    >>> to_strides(Shape.parse("f32[3,5]{0,1}"))
    (4, 12)
    >>> to_strides(Shape.parse("f32[16,256]{1,0:T(8,128)}"))
    Unknown(reason='dimension 0 has 2 strides')
    """
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.element_bits % 8:
        return Unknown(f"elements of {shape.element_bits} bits do not take whole bytes")
    n_bytes = shape.element_bits // 8
    result = []
    for d, dim_digits in enumerate(found):
        if len(dim_digits) > 1:
            return Unknown(f"dimension {d} has {len(dim_digits)} strides")
        result.append(dim_digits[0].stride * n_bytes if dim_digits else n_bytes)
    return tuple(result)


# --------------------------------------------------------------------------------------------------------------- CuTe


@dataclass(frozen=True, slots=True)
class CuteLayout:
    """A CuTe layout ``shape:stride``.

    Both nest alike and have one mode for each dimension; the first entry of a mode is its fastest digit.
    """

    shape: Nested
    stride: Nested

    def __str__(self) -> str:
        return f"{_cute_text(self.shape)}:{_cute_text(self.stride)}"


def to_cute(shape: Shape) -> CuteLayout | Unknown:
    """The CuTe layout that maps the indices of an array to positions in its buffer.

    >>> print(to_cute(Shape.parse("f32[16,256]{1,0:T(8,128)}")))
    ((8,2),(128,2)):((128,2048),(1,1024))
    >>> print(to_cute(Shape.parse("f32[3,5]{0,1}")))
    (3,5):(1,3)
    """
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.n_elements == 0:
        return Unknown("the array has no elements")
    sizes, steps = [], []
    for dim_digits in found:
        sizes.append(_unwrap([digit.size for digit in dim_digits] or [1]))
        steps.append(_unwrap([digit.stride for digit in dim_digits] or [0]))
    return CuteLayout(tuple(sizes), tuple(steps))


def _unwrap(values: list[int]) -> Nested:
    return values[0] if len(values) == 1 else tuple(values)


def _cute_text(value: Nested) -> str:
    return str(value) if isinstance(value, int) else "(" + ",".join(map(_cute_text, value)) + ")"


# ------------------------------------------------------------------------------------------------- linear layouts


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """A linear layout over GF(2), as in Triton: ``bases[b]`` is the contribution of bit b of the position to the index.

    The index at a position is the exclusive or of the bases of its set bits.
    """

    bases: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return "offset = [" + ", ".join(str(list(basis)) for basis in self.bases) + "]"


def to_linear_layout(shape: Shape) -> LinearLayout | Unknown:
    """The linear layout from the bits of a position to the index of the element there.

    Unknown unless all sizes are powers of two and there is no padding.

    >>> print(to_linear_layout(Shape.parse("f32[4,4]{1,0:T(2,2)}")))
    offset = [[0, 1], [1, 0], [0, 2], [2, 0]]
    >>> to_linear_layout(Shape.parse("f32[6]"))
    Unknown(reason='dimension 0 of size 6 is not a power of two')
    """
    for d, size in enumerate(shape.dimensions):
        if size < 1 or size & (size - 1):
            return Unknown(f"dimension {d} of size {size} is not a power of two")
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.buffer_elements != shape.n_elements:
        return Unknown(f"{shape.buffer_elements - shape.n_elements} positions are padding")
    by_position = {}
    for d, dim_digits in enumerate(found):
        for digit in dim_digits:
            for bit in range(digit.size.bit_length() - 1):
                basis = [0] * shape.rank
                basis[d] = digit.weight << bit
                by_position[digit.stride << bit] = tuple(basis)
    return LinearLayout(tuple(by_position[position] for position in sorted(by_position)))
