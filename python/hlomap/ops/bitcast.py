"""bitcast: elements at the same place in memory belong together, so the two layouts decide.

It is transpose-reshape-transpose: order the dimensions as they lie in memory, reshape, order them as the other layout
has them.  Tiled layouts go through positions in memory.  Where the widths of the elements differ, a wider element lies
where a row of narrower ones does: one more dimension, the most minor one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, IndexingMap, Instruction, Shape, buffer_elements, linear_index, logical_index
from ..errors import UnsupportedError
from ._digits import reindexed
from ._maps import full, in_best_form, reads
from ._numeric import bit_width, reinterpreted
from ._op import Answer, Array, Context, ExprLike, Footprint, Leaf, Op, Part, Run, Unknown, Value, register
from ._shapes import n_elements


def _major_to_minor(shape: Shape) -> tuple[int, ...]:
    layout = shape.layout
    if layout is None or (not layout.minor_to_major and shape.rank):
        return tuple(range(shape.rank))
    return tuple(reversed(layout.minor_to_major))


def _is_tiled(shape: Shape) -> bool:
    return shape.layout is not None and bool(shape.layout.tiles)


def _width(shape: Shape) -> int:
    """The bits that one element takes in memory: whole bytes unless the layout packs."""
    packed = shape.layout.element_size_in_bits if shape.layout is not None else 0
    return packed or -(-bit_width(shape.dtype) // 8) * 8


def _hindrance(a: Shape, b: Shape) -> str | None:
    """Why the two do not hold the same bits in the order of their dimensions, None where they do."""
    if not a.is_array or not b.is_array:
        return "bitcast of a value that is no array"
    for shape in (a, b):
        if len(_major_to_minor(shape)) != shape.rank:
            return f"bitcast with a layout that does not fit its shape: {shape}"
    if max(_width(a), _width(b)) % min(_width(a), _width(b)):
        return f"bitcast between element types of widths that do not divide: {a} and {b}"
    if n_elements(a.dimensions) * _width(a) != n_elements(b.dimensions) * _width(b):
        return f"bitcast between different sizes in memory: {a} and {b}"
    return None


def _between(source: Shape, target: Shape) -> Part:
    hindrance = _hindrance(source, target)
    if hindrance is not None:
        return Unknown(hindrance)
    into, of = max(1, _width(source) // _width(target)), max(1, _width(target) // _width(source))
    if _is_tiled(source) or _is_tiled(target):
        return _through_positions(source, target, into, of)
    from_order, to_order = _major_to_minor(source), _major_to_minor(target)
    sizes, lengths = source.dimensions, target.dimensions
    indices = reindexed(
        [*(Expr.dim(i) for i in from_order), Expr.range(0)],
        [*(sizes[i] for i in from_order), into],
        [*(lengths[i] for i in to_order), of],
    )
    results: list[ExprLike] = [0] * target.rank
    for i, index in zip(to_order, indices[:-1], strict=True):
        results[i] = index
    return in_best_form(reads(full(sizes), results, ranges=[(0, into - 1)] if into > 1 else []))


def _through_positions(source: Shape, target: Shape, into: int, of: int) -> Part:
    through = linear_index(source)
    if into > 1 or of > 1:
        n = buffer_elements(source)
        position = Expr.dim(0) * into + Expr.range(0) if into > 1 else Expr.dim(0) // of
        ranges = [(0, into - 1)] if into > 1 else []
        through = through.then(IndexingMap([(0, n - 1)], [position], ranges=ranges))
    return in_best_form(Footprint((((), through.then(logical_index(target))),)))


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
        if bit_width(source.dtype) != bit_width(target.dtype):
            if any(_width(shape) != bit_width(shape.dtype) for shape in (source, target)):
                raise UnsupportedError(f"bits of {source} as {target}")
            memory = np.pad(memory, (0, -len(memory) % max(1, _width(target) // _width(source))))
        memory = reinterpreted(memory, source.dtype, target.dtype)
    if not _is_tiled(target) and memory.size == n_elements(target.dimensions):
        order = _major_to_minor(target)
        lying = memory.reshape([target.dimensions[i] for i in order])
        return lying.transpose([order.index(i) for i in range(len(order))])
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
        array = array.reshape((1,) * (len(widths) - array.ndim) + array.shape)
        first = array.ndim - len(widths)
        # A dimension without a width of its own is one with the next more minor one.
        joined, size = [], 1
        for length, width in zip(array.shape[first:], widths, strict=True):
            size *= length
            if width is not None:
                joined.append(size)
                size = 1
        tile = [width for width in widths if width is not None]
        array = array.reshape(*array.shape[:first], *joined)
        missing = [-size % width for size, width in zip(array.shape[first:], tile, strict=True)]
        array = np.pad(array, [(0, 0)] * first + [(0, more) for more in missing])
        cut = [part for size, width in zip(array.shape[first:], tile, strict=True) for part in (size // width, width)]
        counts = range(first, first + 2 * len(tile), 2)
        array = array.reshape(*array.shape[:first], *cut)
        array = np.transpose(array, [*range(first), *counts, *(i + 1 for i in counts)])
    return np.ascontiguousarray(array).reshape(-1)


register(Op("bitcast", output_to_input, input_to_output, evaluate))
