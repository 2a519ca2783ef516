"""scaled-dot: a dot of two sides whose blocks of elements have a common scale; the scales are operands 2 and 3.

Element i along a dimension has the scale of block ``i floordiv block``; a scalar is one scale for all elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import Instruction
from ..dtypes import numpy_dtype
from ..lazy import np
from ._indexing.contraction import map_by_labels
from ._indexing.maps import single_map
from ._numpy.contraction import sum_of_products
from ._op import Array, EvalContext, OpRule, RuleContext, RuleResult, ShapeIndex, Value, register


@dataclass(frozen=True)
class ScaledDotDimensions:
    """A label for each dimension of operands and output, and for each operand its block sizes by label."""

    labels: tuple[tuple[str, ...], ...]
    blocks: tuple[dict[str, int], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]


def scaled_dot_dimensions(instruction: Instruction) -> ScaledDotDimensions:
    """The labels."""
    attributes = instruction.attributes
    shapes = [tuple(x.shape.dimensions) for x in instruction.operands]
    batch, summed = (
        [tuple(attributes.get(f"{side}_{kind}_dims", ())) for side in ("lhs", "rhs")]
        for kind in ("batch", "contracting")
    )
    left, right = [f"l{i}" for i in range(len(shapes[0]))], [f"r{i}" for i in range(len(shapes[1]))]
    for i, j in zip(batch[0] + summed[0], batch[1] + summed[1], strict=True):
        right[j] = left[i]
    sizes = {**dict(zip(left, shapes[0], strict=True)), **dict(zip(right, shapes[1], strict=True))}
    output = [left[i] for i in batch[0]]
    for labels, dims, contracted in ((left, batch[0], summed[0]), (right, batch[1], summed[1])):
        output += [label for i, label in enumerate(labels) if i not in dims and i not in contracted]
    sides = (tuple(left), tuple(right))
    scales = tuple(labels if shape else () for labels, shape in zip(sides, shapes[2:], strict=True))
    blocks: list[dict[str, int]] = [{}, {}]
    for scaled, shape in zip(scales, shapes[2:], strict=True):
        blocks.append({label: sizes[label] // n for label, n in zip(scaled, shape, strict=True)})
    return ScaledDotDimensions((*sides, *scales), tuple(blocks), tuple(output), sizes)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The sides as in a dot, and the scales of the blocks."""
    d = scaled_dot_dimensions(instruction)
    found = []
    for labels, blocks in zip(d.labels, d.blocks, strict=True):
        dims, results, ranges = map_by_labels(d.output, labels, d.sizes, target_blocks=blocks)
        found.append(single_map(dims, results, ranges=ranges))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every output that the element, or an element of its block, contributes to."""
    d = scaled_dot_dimensions(instruction)
    dims, results, ranges = map_by_labels(d.labels[operand], d.output, d.sizes, source_blocks=d.blocks[operand])
    return [single_map(dims, results, ranges=ranges)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Scale both sides in f32, then one einsum."""
    d = scaled_dot_dimensions(instruction)
    dtype = numpy_dtype(instruction.shape.dtype)
    number = {label: i for i, label in enumerate(d.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (*d.labels[:2], d.output))
    left, right = (_scaled(x, scales) for x, scales in zip(operands[:2], operands[2:], strict=True))
    return sum_of_products(left, a, right, b, out, dtype)


def _scaled(side: Array, scales: Array) -> Array:
    side, scales = np.asarray(side).astype(np.float32), np.asarray(scales).astype(np.float32)
    for axis, n in enumerate(scales.shape):
        scales = np.repeat(scales, side.shape[axis] // n, axis=axis)
    return side * scales


register(OpRule("scaled-dot", output_to_input, input_to_output, evaluate, operations="multiply-adds"))
