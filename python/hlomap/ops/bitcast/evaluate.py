"""Semantics of bitcast: the bytes of the operand's buffer, read as the buffer of the output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction, Shape
from ...dtypes import bit_width
from ...errors import UnsupportedError
from .._evaluation import Array, EvalContext, Value
from .._numpy.numeric import reinterpret_bits
from .._shapes import n_elements
from .attributes import is_tiled, major_to_minor, mismatch, width_of


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Lay the operand out in memory, and read the output from there."""
    source, target = instruction.operands[0].shape, instruction.shape
    reason = mismatch(source, target)
    if reason is not None:
        raise UnsupportedError(reason)
    memory = _buffer(np.asarray(operands[0]), source)
    if source.dtype != target.dtype:
        if bit_width(source.dtype) != bit_width(target.dtype):
            if any(width_of(shape) != bit_width(shape.dtype) for shape in (source, target)):
                raise UnsupportedError(f"reading the bits of {source} as {target} is not supported")
            memory = np.pad(memory, (0, -len(memory) % max(1, width_of(target) // width_of(source))))
        memory = reinterpret_bits(memory, source.dtype, target.dtype)
    if not is_tiled(target) and memory.size == n_elements(target.dimensions):
        order = major_to_minor(target)
        ordered = memory.reshape([target.dimensions[i] for i in order])
        return ordered.transpose([order.index(i) for i in range(len(order))])
    # The buffer of the target's elements numbered from 1 shows which element each position holds; 0 is padding.
    n = n_elements(target.dimensions)
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
