"""Decides whether an instruction leaves its operand in place, from the positions in memory that its maps relate.

For two shapes see :mod:`hlomap.layouts`.
"""

from __future__ import annotations

from operator import index as to_int

from .._core import Computation, IndexingMap, Instruction, Module, linear_index
from ..base.answers import Answer
from ..base.text import plural
from ..base.types import is_index, subject_of, wrong_type
from ..errors import HlomapError, ShapeError
from ..maps.map_set import MapSet
from .queries import operand_maps, operands_and_shape
from .questions import Questions


def is_bitcast(subject: Instruction | Computation | Module, /, operand: int = 0) -> Answer[tuple[int, ...]]:
    """Whether an instruction leaves every byte of an operand in place, in a buffer of the same size.

    The operands of a computation are its parameters; a module stands for its entry.

    Positions in memory include tiles and padding.  The answer is true for a bitcast, and for a reshape, transpose or
    copy between layouts that fit.  ``.value`` is ``None`` if the maps are unknown or not exact, for values that are not
    arrays, and for an instruction without operands.  A witness is the index of an element of the
    output; ``None`` if it is padding.

    Raises :class:`~hlomap.errors.ShapeError` if the operand does not exist.

    >>> e = hm.parse('''HloModule m
    ... ENTRY e {
    ...   p = f32[16,256]{1,0:T(8,128)} parameter(0)
    ...   r = f32[2,8,256]{2,1,0:T(8,128)} reshape(p)
    ...   ROOT c = f32[2,8,256]{2,1,0} copy(r)
    ... }''').entry
    >>> is_bitcast(e["r"]).value, is_bitcast(e["c"]).value
    (True, False)
    """
    instruction = subject_of(subject, "is_bitcast")
    operands, shape = operands_and_shape(instruction)
    if not is_index(operand):
        raise wrong_type("is_bitcast", "an operand number (int) as `operand`", operand)
    operand = to_int(operand)
    if not operands and operand == 0:
        return Answer(None, reason=f"{instruction.name} has no operands")
    if not 0 <= operand < len(operands):
        raise ShapeError(f"{instruction.name} has {plural(len(operands), 'operand')}, no operand {operand}")
    source, target = operands[operand].shape, shape
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
    maps = operand_maps(Questions(instruction.module), instruction, ()).get(operand, MapSet())
    if maps.is_unknown or not maps.exact or len(maps) != 1:
        return Answer(None, reason=maps.reason or f"{len(maps)} maps")
    m = maps[0]
    try:
        source_positions, positions = linear_index(source), linear_index(target)
    except (HlomapError, OverflowError) as error:
        return Answer(None, reason=f"layout: {error}")
    try:
        reads = m.then(source_positions).simplify(drop_unused=True)
    except (HlomapError, OverflowError) as error:
        return Answer(None, reason=f"composition: {error}")
    if reads.is_known_empty:
        return Answer(None, reason="0 maps")
    if reads.ranges or reads.runtime:
        return _several_elements(reads)
    answer = reads.equivalent(IndexingMap(reads.dims, positions.results, constraints=reads.constraints))
    return answer if answer.witness is None else Answer(False, witness=answer.witness)


def _several_elements(reads: IndexingMap) -> Answer[tuple[int, ...]]:
    """The answer for a map with ranges to positions: False if the first element reads a position other than 0."""
    if not reads.runtime and not reads.constraints:
        first, lowest = [0] * len(reads.dims), [v.lower for v in reads.ranges]
        for k, v in enumerate(reads.ranges):
            if reads.evaluate(first, [*lowest[:k], v.upper, *lowest[k + 1 :]])[0] != 0:
                return Answer(False, witness=tuple(first))
    return Answer(None, reason="an element of the output may read several elements")
