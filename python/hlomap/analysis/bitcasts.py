"""Decides whether an operation leaves its operand in place, and decomposes bitcasts.

:func:`is_bitcast` decides it for an instruction, by the positions in memory that its maps relate.  For two shapes see
the compiled ``reshape_is_bitcast``, ``transpose_is_bitcast`` and ``is_valid_bitcast``.
"""

from __future__ import annotations

from operator import index as to_int
from typing import NamedTuple

from .._core import Expr, IndexingMap, Instruction, Shape, bitcast_factors
from ..answers import Answer
from ..errors import ShapeError
from ..maps.map_set import MapSet
from ..types import Unknown, expect, is_index, wrong_type
from .physical import to_physical
from .queries import operand_maps
from .rule_provider import RuleProvider

__all__ = ["BitcastFactors", "decompose_bitcast", "is_bitcast"]


class BitcastFactors(NamedTuple):
    """A bitcast as transpose, reshape, transpose, each between arrays in memory order.

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


def decompose_bitcast(operand: Shape, output: Shape) -> BitcastFactors | Unknown:
    """The transpose, reshape and transpose that a bitcast between two shapes consists of.

    Unknown where there are none: with tiles or padding only the positions of elements relate them
    (:func:`hlomap.linear_index`), and between elements of different widths there is no reshape.

    >>> factors = decompose_bitcast(Shape.parse("f32[2,3]{0,1}"), Shape.parse("f32[3,2]"))
    >>> not isinstance(factors, Unknown) and factors.is_transpose
    True
    >>> decompose_bitcast(Shape.parse("f32[8]{0:T(4)}"), Shape.parse("f32[8]"))
    Unknown(reason='tiles or padding in f32[8]{0:T(4)}')
    """
    for shape in (operand, output):
        expect(Shape, shape, "decompose_bitcast", "an hlomap.Shape", "read text with hlomap.Shape.parse(text)")
        if not shape.is_array:
            raise ShapeError(f"bitcast of {shape}: expected an array")
        layout = shape.layout
        if layout is not None and (layout.problem or layout.tiles or layout.padded_dimensions):
            return Unknown(f"tiles or padding in {shape}")
    factors = bitcast_factors(operand, output)
    if factors is None:
        return Unknown(f"{operand} and {output} have other widths or numbers of elements")
    return BitcastFactors(*factors)


def is_bitcast(instruction: Instruction, operand: int = 0) -> Answer[tuple[int, ...]]:
    """Whether an instruction leaves every byte of an operand where it is, in a buffer of one size.

    Asked of the positions in memory, tiles and padding included; true of a bitcast, and of a reshape, transpose or copy
    between layouts that fit.  ``.value`` of the result is ``None`` where the maps are unknown or not exact, and for
    values that are not arrays.  A witness is a position in the output's buffer, counted in elements.

    Raises :class:`~hlomap.errors.ShapeError` where the operand does not exist.

    >>> import hlomap as hm
    >>> e = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[16,256]{1,0:T(8,128)} parameter(0)
    ...   r = f32[2,8,256]{2,1,0:T(8,128)} reshape(p)
    ...   ROOT c = f32[2,8,256]{2,1,0} copy(r)
    ... }''').entry
    >>> is_bitcast(e["r"]).value, is_bitcast(e["c"]).value
    (True, False)
    """
    expect(Instruction, instruction, "is_bitcast", "an hlomap.Instruction", "use module.entry.root or module[name]")
    if not is_index(operand):
        raise wrong_type("is_bitcast", "an operand number (int) as `operand`", operand)
    operand = to_int(operand)
    if not 0 <= operand < len(instruction.operands):
        raise ShapeError(f"{instruction.name} has {len(instruction.operands)} operands, no operand {operand}")
    source, target = instruction.operands[operand].shape, instruction.shape
    if not source.is_array or not target.is_array:
        return Answer(None, reason="a value that is not an array")
    try:
        if source.buffer_bytes != target.buffer_bytes:
            return Answer(False, reason=f"buffers of different sizes: {source} and {target}")
        sizes = [(shape.buffer_elements, shape.element_bits, shape.n_elements) for shape in (source, target)]
    except ShapeError as error:  # an invalid layout, or an unbounded dimension
        return Answer(None, reason=str(error))
    if sizes[0] != sizes[1]:
        return Answer(None, reason=f"elements of different sizes: {source} and {target}")
    found = operand_maps(RuleProvider(instruction.module), instruction, ())
    maps = to_physical(found.get(operand, MapSet()), target, source)
    if maps.is_unknown or not maps.exact or len(maps) != 1:
        return Answer(None, reason=maps.reason or f"{len(maps)} maps")
    m = next(iter(maps))
    if m.ranges or m.runtime:
        return _several_elements(m)
    stays = IndexingMap(m.dims, [Expr.dim(0)], constraints=[(c.expr, c.lower, c.upper) for c in m.constraints])
    return m.equivalent(stays)


def _several_elements(m: IndexingMap) -> Answer[tuple[int, ...]]:
    """The answer for a map with ranges between positions: False if element 0 reads any but element 0."""
    if not m.runtime and not m.constraints:
        lowest = [v.lower for v in m.ranges]
        for k, v in enumerate(m.ranges):
            if m.evaluate([0], [*lowest[:k], v.upper, *lowest[k + 1 :]])[0] != 0:
                return Answer(False, witness=(0,))
    return Answer(None, reason="an element of the output may read several elements")
