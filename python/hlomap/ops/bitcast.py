"""bitcast: elements at the same position in memory correspond, as the layouts of operand and output place them.

Without tiles that is transpose, reshape, transpose: dimensions in major-to-minor order, reshaped, and back in the order
of the other layout.  Tiled layouts go through positions in the buffer.  Between element types of different widths the
position of a wider element is a row of narrower ones, one more dimension, the most minor one.  See "Shapes and layout"
of XLA's documentation.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import (
    Expr,
    IndexingMap,
    Instruction,
    Shape,
    linear_index,
    logical_index,
)
from ..base.answers import Unknown
from ..base.lazy import np
from ..errors import UnsupportedError
from ._indexing.maps import described
from ._numpy.numeric import reinterpret_bits
from ._op import Array, EvalContext, Memory, RuleContext, RuleResult, ShapeIndex, Value, register_moving
from ._rule import Footprint, OperandIndexing


def major_to_minor(shape: Shape) -> tuple[int, ...]:
    """The dimensions in the order of a layout, by default the shape's."""
    layout = shape.layout
    if layout is None or (not layout.minor_to_major and shape.rank):
        return tuple(range(shape.rank))
    return tuple(reversed(layout.minor_to_major))


def is_tiled(shape: Shape) -> bool:
    return shape.layout is not None and bool(shape.layout.tiles)


def width_of(shape: Shape) -> int:
    """The bits that an element takes in memory: whole bytes unless the layout packs elements."""
    packed = shape.layout.element_size_in_bits if shape.layout is not None else 0
    return packed or -(-shape.value_bits // 8) * 8


def mismatch(a: Shape, b: Shape) -> str | None:
    """The reason why two shapes cannot be a bitcast of each other; None if they can."""
    if not a.is_array or not b.is_array:
        return "bitcast of a value that is not an array"
    for shape in (a, b):
        if len(major_to_minor(shape)) != shape.rank:
            return f"bitcast with a layout that does not fit its shape: {shape}"
    if max(width_of(a), width_of(b)) % min(width_of(a), width_of(b)):
        return f"bitcast between element types of widths that do not divide: {a} and {b}"
    if prod(a.dimensions) * width_of(a) != prod(b.dimensions) * width_of(b):
        return f"bitcast between different sizes in memory: {a} and {b}"
    return None


def _tiled(source: Shape, target: Shape) -> OperandIndexing:
    """From each element of ``source`` to the target elements in it, or to the one that it is part of."""
    reason = mismatch(source, target)
    if reason is not None:
        return Unknown(reason)
    n_inner, n_outer = max(1, width_of(source) // width_of(target)), max(1, width_of(target) // width_of(source))
    return _map_through_positions(source, target, n_inner, n_outer)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Through positions in the buffer."""
    return [_tiled(instruction.shape, instruction.operands[0].shape)]


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """Through positions in the buffer."""
    return [_tiled(instruction.operands[0].shape, instruction.shape)]


def _map_through_positions(source: Shape, target: Shape, n_inner: int, n_outer: int) -> OperandIndexing:
    m = linear_index(source)
    if n_inner > 1 or n_outer > 1:
        n = source.buffer_elements
        position = Expr.dim(0) * n_inner + Expr.range(0) if n_inner > 1 else Expr.dim(0) // n_outer
        ranges = [(0, n_inner - 1)] if n_inner > 1 else []
        m = m.then(IndexingMap([(0, n - 1)], [position], ranges=ranges))
    return Footprint((((), m.then(logical_index(target))),)).simplified()


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Lay the operand out in memory, and read the output from there."""
    source, target = instruction.operands[0].shape, instruction.shape
    reason = mismatch(source, target)
    if reason is not None:
        raise UnsupportedError(reason)
    memory = _buffer(np.asarray(operands[0]), source)
    if source.dtype != target.dtype:
        if source.value_bits != target.value_bits:
            if any(width_of(shape) != shape.value_bits for shape in (source, target)):
                raise UnsupportedError(f"reading the bits of {source} as {target} is not supported")
            memory = np.pad(memory, (0, -len(memory) % max(1, width_of(target) // width_of(source))))
        memory = reinterpret_bits(memory, source.dtype, target.dtype)
    if not is_tiled(target) and memory.size == prod(target.dimensions):
        order = major_to_minor(target)
        ordered = memory.reshape([target.dimensions[i] for i in order])
        return ordered.transpose([order.index(i) for i in range(len(order))])
    # The buffer of the target's elements numbered from 1 shows which element each position holds; 0 is padding.
    n = prod(target.dimensions)
    positions = _buffer(np.arange(1, n + 1).reshape(target.dimensions), target)
    common = min(len(positions), len(memory))
    used = positions[:common] > 0
    out = np.zeros(n, memory.dtype)
    out[positions[:common][used] - 1] = memory[:common][used]
    return out.reshape(target.dimensions)


def _buffer(array: Array, shape: Shape) -> Array:
    """The buffer of an array: each tiling splits the most minor dimensions into counts and tiles, tiles innermost."""
    array = np.transpose(array, major_to_minor(shape))
    for widths in shape.layout.tiles if shape.layout is not None else ():
        array = array.reshape((1,) * (len(widths) - array.ndim) + array.shape)
        first = array.ndim - len(widths)
        # A dimension without a tile size is combined with the next more minor one.
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


register_moving(
    "bitcast",
    described("same place in memory", output_to_input, input_to_output),
    evaluate,
    memory=Memory(moves_nothing=True),
)
