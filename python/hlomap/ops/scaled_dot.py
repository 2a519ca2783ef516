"""scaled-dot: a dot of two sides made of blocks with one factor each; operands are the sides, then the factors.

Element i along a dimension has factor ``i floordiv block``; a scalar is one factor for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Instruction
from ._contract import linked, sum_of_products
from ._maps import reads
from ._numeric import numpy_dtype
from ._op import Answer, Array, Context, Leaf, Op, Run, Value, register
from ._shapes import agree, must


@dataclass(frozen=True)
class _Plan:
    """A label for each dimension of the operands and the output, and for each operand the length of its blocks."""

    labels: tuple[tuple[str, ...], ...]
    blocks: tuple[dict[str, int], ...]
    output: tuple[str, ...]
    sizes: dict[str, int]


def _plan(instruction: Instruction) -> _Plan:
    attributes = instruction.attributes
    shapes = [tuple(x.shape.dimensions) for x in instruction.operands]
    must(len(shapes) == 4, "two sides and their factors")
    batch, summed = (
        [tuple(attributes.get(f"{side}_{kind}_dims", ())) for side in ("lhs", "rhs")]
        for kind in ("batch", "contracting")
    )
    left, right = [f"l{i}" for i in range(len(shapes[0]))], [f"r{i}" for i in range(len(shapes[1]))]
    for i, j in zip(batch[0] + summed[0], batch[1] + summed[1], strict=True):
        agree([shapes[0][i]], [shapes[1][j]], "paired dimensions")
        right[j] = left[i]
    sizes = {**dict(zip(right, shapes[1], strict=True)), **dict(zip(left, shapes[0], strict=True))}
    output = [left[i] for i in batch[0]]
    for labels, dims, gone in ((left, batch[0], summed[0]), (right, batch[1], summed[1])):
        output += [label for i, label in enumerate(labels) if i not in dims and i not in gone]
    agree(instruction.shape.dimensions, (sizes[label] for label in output), "an output")
    sides = (tuple(left), tuple(right))
    factors = tuple(labels if shape else () for labels, shape in zip(sides, shapes[2:], strict=True))
    blocks: list[dict[str, int]] = [{}, {}]
    for scaled, shape in zip(factors, shapes[2:], strict=True):
        must(all(n > 0 and sizes[label] % n == 0 for label, n in zip(scaled, shape, strict=True)), "whole blocks")
        blocks.append({label: sizes[label] // n for label, n in zip(scaled, shape, strict=True)})
    return _Plan((*sides, *factors), tuple(blocks), tuple(output), sizes)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The sides as dot; the factors of their blocks."""
    plan = _plan(instruction)
    found = []
    for labels, blocks in zip(plan.labels, plan.blocks, strict=True):
        dims, results, ranges = linked(plan.output, labels, plan.sizes, target_blocks=blocks)
        found.append(reads(dims, results, ranges=ranges))
    return found


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """Every output of the side's element, or of the block's elements."""
    plan = _plan(instruction)
    dims, results, ranges = linked(plan.labels[operand], plan.output, plan.sizes, source_blocks=plan.blocks[operand])
    return [reads(dims, results, ranges=ranges)]


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Scale each side in the type of the result, then one einsum."""
    plan = _plan(instruction)
    dtype = numpy_dtype(instruction.shape.dtype)
    number = {label: i for i, label in enumerate(plan.sizes)}
    a, b, out = ([number[label] for label in labels] for labels in (*plan.labels[:2], plan.output))
    left, right = (_scaled(x, factors) for x, factors in zip(operands[:2], operands[2:], strict=True))
    return sum_of_products(left, a, right, b, out, dtype)


def _scaled(side: Array, factors: Array) -> Array:
    side, factors = np.asarray(side).astype(np.float32), np.asarray(factors).astype(np.float32)
    for axis, n in enumerate(factors.shape):
        factors = np.repeat(factors, side.shape[axis] // n, axis=axis)
    return side * factors


register(Op("scaled-dot", output_to_input, input_to_output, evaluate))
