"""bitcast: elements at the same place in memory belong together, so the two layouts decide.

It is transpose-reshape-transpose: order the dimensions as they lie in memory, reshape, order them as the other layout
has them.  A change of the element width or a tiled layout moves places in other ways: Unknown here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction, Shape
from ..errors import UnsupportedError
from ._digits import reindexed
from ._numeric import bit_width, numpy_dtype
from ._op import (
    Answer,
    Context,
    ExprLike,
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


def _hindrance(a: Shape, b: Shape) -> str | None:
    """Why the two do not hold the same elements in the order of their dimensions, None where they do."""
    if not a.is_array or not b.is_array:
        return "bitcast of a value that is no array"
    for shape in (a, b):
        if shape.layout is not None and shape.layout.tiles:
            return f"bitcast with a tiled layout: {shape}"
        if len(_major_to_minor(shape)) != shape.rank:
            return f"bitcast with a layout that does not fit its shape: {shape}"
    if bit_width(a.dtype) != bit_width(b.dtype):
        return f"bitcast between element types of different width: {a} and {b}"
    if n_elements(a.dimensions) != n_elements(b.dimensions):
        return f"bitcast between different numbers of elements: {a} and {b}"
    return None


def _between(source: Shape, target: Shape) -> Part:
    hindrance = _hindrance(source, target)
    if hindrance is not None:
        return Unknown(hindrance)
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
    memory = np.ascontiguousarray(np.transpose(operands[0], _major_to_minor(source))).reshape(-1)
    if source.dtype != target.dtype:
        memory = memory.view(numpy_dtype(target.dtype))
    order = _major_to_minor(target)
    return np.transpose(memory.reshape([target.dimensions[i] for i in order]), np.argsort(order))


register(Op("bitcast", output_to_input, input_to_output, evaluate))
