"""bitcast: elements at the same place in memory belong together, so the two layouts decide.

It is transpose-reshape-transpose: order the dimensions as they lie in memory, reshape, order them as the other layout
has them.  Tiled layouts go through positions in memory.  A change of the element width is Unknown here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction, Shape, linear_index, logical_index
from ..errors import UnsupportedError
from ._digits import reindexed
from ._numeric import bit_width, numpy_dtype
from ._op import (
    Answer,
    Array,
    Context,
    ExprLike,
    Footprint,
    Leaf,
    Op,
    Part,
    Run,
    Unknown,
    Value,
    full,
    in_best_form,
    n_elements,
    reads,
    register,
)


def _major_to_minor(shape: Shape) -> tuple[int, ...]:
    layout = shape.layout
    if layout is None or (not layout.minor_to_major and shape.rank):
        return tuple(range(shape.rank))
    return tuple(reversed(layout.minor_to_major))


def _is_tiled(shape: Shape) -> bool:
    return shape.layout is not None and bool(shape.layout.tiles)


def _packed(shape: Shape) -> int:
    return shape.layout.element_size_in_bits if shape.layout is not None else 0


def _hindrance(a: Shape, b: Shape) -> str | None:
    """Why the two do not hold the same elements in the order of their dimensions, None where they do."""
    if not a.is_array or not b.is_array:
        return "bitcast of a value that is no array"
    for shape in (a, b):
        if len(_major_to_minor(shape)) != shape.rank:
            return f"bitcast with a layout that does not fit its shape: {shape}"
    if bit_width(a.dtype) != bit_width(b.dtype) or _packed(a) != _packed(b):
        return f"bitcast between element types of different width: {a} and {b}"
    if n_elements(a.dimensions) != n_elements(b.dimensions):
        return f"bitcast between different numbers of elements: {a} and {b}"
    return None


def _between(source: Shape, target: Shape) -> Part:
    hindrance = _hindrance(source, target)
    if hindrance is not None:
        return Unknown(hindrance)
    if _is_tiled(source) or _is_tiled(target):
        through = linear_index(source).then(logical_index(target))
        return in_best_form(Footprint((((), through),)))
    from_order, to_order = _major_to_minor(source), _major_to_minor(target)
    sizes, lengths = source.dimensions, target.dimensions
    variables = [Expr.dim(i) for i in from_order]
    indices = reindexed(variables, [sizes[i] for i in from_order], [lengths[i] for i in to_order])
    results: list[ExprLike] = [0] * target.rank
    for i, index in zip(to_order, indices, strict=True):
        results[i] = index
    return in_best_form(reads(full(sizes), results))


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """From the output's place in memory to the operand's element there."""
    return [_between(instruction.shape, instruction.operands[0].shape)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """From the operand's place in memory to the output's element there."""
    return [_between(instruction.operands[0].shape, instruction.shape)]


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Write the operand out as it lies in memory, read it back as the output lies."""
    source, target = instruction.operands[0].shape, instruction.shape
    hindrance = _hindrance(source, target)
    if hindrance is not None:
        raise UnsupportedError(hindrance)
    memory = _laid_out(np.asarray(operands[0]), source)
    if source.dtype != target.dtype:
        memory = memory.view(numpy_dtype(target.dtype))
    # Numbering the target's elements from 1 and laying them out tells which element each place holds; 0 is padding.
    n = n_elements(target.dimensions)
    places = _laid_out(np.arange(1, n + 1).reshape(target.dimensions), target)
    common = min(len(places), len(memory))
    held = places[:common] > 0
    out = np.zeros(n, memory.dtype)
    out[places[:common][held] - 1] = memory[:common][held]
    return out.reshape(target.dimensions)


def _laid_out(array: Array, shape: Shape) -> Array:
    """The buffer of an array: each tile cuts the most minor dimensions into counts and tiles, tiles innermost."""
    array = np.transpose(array, _major_to_minor(shape))
    for widths in shape.layout.tiles if shape.layout is not None else ():
        tile = [width for width in widths if width is not None]
        if len(tile) != len(widths):
            raise UnsupportedError(f"a tile that combines dimensions: {shape}")
        array = array.reshape((1,) * (len(tile) - array.ndim) + array.shape)
        first = array.ndim - len(tile)
        missing = [-size % width for size, width in zip(array.shape[first:], tile, strict=True)]
        array = np.pad(array, [(0, 0)] * first + [(0, more) for more in missing])
        cut = [part for size, width in zip(array.shape[first:], tile, strict=True) for part in (size // width, width)]
        counts = range(first, first + 2 * len(tile), 2)
        array = array.reshape(*array.shape[:first], *cut)
        array = np.transpose(array, [*range(first), *counts, *(i + 1 for i in counts)])
    return np.ascontiguousarray(array).reshape(-1)


register(Op("bitcast", output_to_input, input_to_output, evaluate))
