"""scaled-dot: a dot of two sides whose blocks of elements have a common scale; the scales are operands 2 and 3.

Element i along a dimension has the scale of block ``i floordiv block``; a scalar is one scale for all elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .._core import Instruction
from ..base.dtypes import numpy_dtype
from ..base.lazy import np
from ._attributes import matrix_product, product_labels, product_sides
from ._indexing.contraction import map_by_labels
from ._indexing.maps import single_map
from ._numpy.contraction import sum_of_products
from ._numpy.reduction import partial_sums
from ._op import Array, EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, register


class ScaledDotDimensions(NamedTuple):
    """A label for each dimension of operands and output, and for each operand its block sizes by label."""

    labels: tuple[Sequence[int], ...]
    blocks: tuple[dict[int, int], ...]
    output: Sequence[int]
    sizes: dict[int, int]


def scaled_dot_dimensions(instruction: Instruction) -> ScaledDotDimensions:
    """The labels."""
    left, right = product_sides(instruction)
    a, b, output = product_labels(left, right)
    sizes = dict(zip([*a, *b], [*left.sizes, *right.sizes], strict=True))
    shapes = [x.shape.dimensions for x in instruction.operands[2:]]
    scales = [labels if shape else [] for labels, shape in zip((a, b), shapes, strict=True)]
    blocks = ({i: sizes[i] // n for i, n in zip(*scaled, strict=True)} for scaled in zip(scales, shapes, strict=True))
    return ScaledDotDimensions((a, b, *scales), ({}, {}, *blocks), output, sizes)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The sides as in a dot, and the scales of the blocks."""
    d = scaled_dot_dimensions(instruction)
    found = []
    for labels, blocks in zip(d.labels, d.blocks, strict=True):
        dims, results, ranges = map_by_labels(d.output, labels, d.sizes, target_blocks=blocks)
        found.append(single_map(dims, results, ranges=ranges))
    return found


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """Every output that the element, or an element of its block, contributes to."""
    d = scaled_dot_dimensions(instruction)
    dims, results, ranges = map_by_labels(d.labels[operand], d.output, d.sizes, source_blocks=d.blocks[operand])
    return [single_map(dims, results, ranges=ranges)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Scale both sides in f32, then one einsum."""
    d = scaled_dot_dimensions(instruction)
    left, right = (_scaled(x, scales) for x, scales in zip(operands[:2], operands[2:], strict=True))
    return sum_of_products(left, d.labels[0], right, d.labels[1], d.output, numpy_dtype(instruction.shape.dtype))


def _scaled(side: Array, scales: Array) -> Array:
    side, scales = np.asarray(side).astype(np.float32), np.asarray(scales).astype(np.float32)
    for axis, n in enumerate(scales.shape):
        scales = np.repeat(scales, side.shape[axis] // n, axis=axis)
    return side * scales


register(
    "scaled-dot",
    Maps(output_to_input, input_to_output),
    Semantics(evaluate, operations="multiply-adds", matrix_product=matrix_product, partial_results=partial_sums),
)
