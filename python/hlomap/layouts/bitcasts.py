"""Changes of shape and layout that move nothing, and the factors of a bitcast; these need shapes, not modules.

For an instruction see :func:`hlomap.is_bitcast`.
"""

from __future__ import annotations

from itertools import chain
from math import prod
from typing import NamedTuple

from .._core import Shape, is_valid_bitcast, reshape_is_bitcast, transpose_is_bitcast
from ..base.answers import Unknown
from ..base.types import expect
from ..errors import ShapeError

__all__ = ["BitcastFactors", "decompose_bitcast", "is_valid_bitcast", "reshape_is_bitcast", "transpose_is_bitcast"]


class BitcastFactors(NamedTuple):
    """A bitcast as transpose, reshape and transpose, each between arrays in memory order.

    Dimension k of the transposed operand is the operand's ``operand_permutation[k]`` and has the size
    ``operand_sizes[k]``; it is reshaped to ``output_sizes``; dimension k of that is the output's
    ``output_permutation[k]``.
    """

    operand_permutation: tuple[int, ...]
    operand_sizes: tuple[int, ...]
    output_sizes: tuple[int, ...]
    output_permutation: tuple[int, ...]

    @property
    def is_reshape(self) -> bool:
        """Whether both transposes are identities."""
        return all(list(p) == sorted(p) for p in (self.operand_permutation, self.output_permutation))

    @property
    def is_transpose(self) -> bool:
        """Whether the reshape is an identity."""
        return self.operand_sizes == self.output_sizes


def decompose_bitcast(operand: Shape, output: Shape, /) -> BitcastFactors | Unknown:
    """The transpose, reshape and transpose that a bitcast between two shapes consists of.

    Unknown if there are none: with tiles or padding only the positions of elements relate the two arrays
    (:func:`hlomap.layouts.linear_index`), and no reshape changes the element width.

    >>> factors = decompose_bitcast(Shape.parse("f32[2,3]{0,1}"), Shape.parse("f32[3,2]"))
    >>> not isinstance(factors, Unknown) and factors.is_transpose
    True
    >>> decompose_bitcast(Shape.parse("f32[8]{0:T(4)}"), Shape.parse("f32[8]"))
    Unknown(reason='tiles or padding in f32[8]{0:T(4)}')
    """
    for shape in (operand, output):
        expect(Shape, shape, "layouts.decompose_bitcast", "a Shape", "read text with hm.Shape.parse(text)")
        if not shape.is_array:
            raise ShapeError(f"bitcast of {shape}: expected an array")
        layout = shape.layout
        if layout is not None and (layout.problem or layout.tiles or layout.padded_dimensions):
            return Unknown(f"tiles or padding in {shape}")
    first, second = _major_to_minor(operand), _major_to_minor(output)
    sizes, others = (tuple(s.dimensions[d] for d in p) for s, p in ((operand, first), (output, second)))
    if operand.element_bits != output.element_bits or prod(sizes) != prod(others) or -1 in sizes + others:
        return Unknown(f"{operand} and {output} have other widths or numbers of elements")
    return BitcastFactors(first, sizes, others, second)


def _major_to_minor(shape: Shape) -> tuple[int, ...]:
    """The dimensions; each of size 1 comes directly before the next dimension by number that has another size.

    Dimensions of size 1 do not affect positions, so that layouts that differ only in these agree.
    """
    ones: dict[int, list[int]] = {}
    following = shape.rank
    for d in reversed(range(shape.rank)):
        if shape.dimensions[d] == 1:
            ones.setdefault(following, []).insert(0, d)
        else:
            following = d
    order = shape.layout.minor_to_major[::-1] if shape.layout else range(shape.rank)
    wide = (d for d in order if shape.dimensions[d] != 1)
    return tuple(chain(*([*ones.get(d, ()), d] for d in wide), ones.get(shape.rank, ())))
