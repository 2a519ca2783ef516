"""dot: output dimensions are the batch dimensions, the free ones of the left side, the free ones of the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import Expr, Instruction
from ._contract import sum_of_products
from ._maps import full, reads
from ._numeric import numpy_dtype
from ._op import Answer, Context, ExprLike, Leaf, Op, Part, Run, Unknown, Value, register
from ._shapes import agree, must


@dataclass(frozen=True)
class _Side:
    """One operand: its sizes and which of its dimensions are batch, contracted, and neither."""

    sizes: tuple[int, ...]
    batch: tuple[int, ...]
    contracted: tuple[int, ...]

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(i for i in range(len(self.sizes)) if i not in self.batch and i not in self.contracted)


def _sides(instruction: Instruction) -> tuple[_Side, _Side]:
    attributes = instruction.attributes
    sides = [
        _Side(
            tuple(operand.shape.dimensions),
            tuple(attributes.get(f"{side}_batch_dims", ())),
            tuple(attributes.get(f"{side}_contracting_dims", ())),
        )
        for side, operand in zip(("lhs", "rhs"), instruction.operands, strict=False)
    ]
    left, right = sides
    for a, b in ((left.batch, right.batch), (left.contracted, right.contracted)):
        agree((left.sizes[i] for i in a), (right.sizes[i] for i in b), "paired dimensions")
    sizes = [*(left.sizes[i] for i in left.batch + left.free), *(right.sizes[i] for i in right.free)]
    agree(instruction.shape.dimensions, sizes, "an output")
    for side in sides:
        used = side.batch + side.contracted
        must(len(set(used)) == len(used), "a dimension both batch and contracted")
    return left, right


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """A range for each contracted dimension, the same on both sides."""
    if len(instruction.operands) != 2:
        return [Unknown("dot with sparsity metadata")] * len(instruction.operands)
    left, right = _sides(instruction)
    parts: list[Part] = []
    for side, first_free in ((left, len(left.batch)), (right, len(left.batch) + len(left.free))):
        results: list[ExprLike] = [0] * len(side.sizes)
        for i, dim in enumerate(side.batch):
            results[dim] = Expr.dim(i)
        for i, dim in enumerate(side.free):
            results[dim] = Expr.dim(first_free + i)
        for i, dim in enumerate(side.contracted):
            results[dim] = Expr.range(i)
        parts.append(
            reads(full(instruction.shape.dimensions), results, ranges=full(side.sizes[i] for i in side.contracted))
        )
    return parts


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """A range for each free dimension of the other side."""
    if len(instruction.operands) != 2:
        return [Unknown("dot with sparsity metadata")]
    left, right = _sides(instruction)
    side, other = (left, right) if operand == 0 else (right, left)
    own: list[ExprLike] = [Expr.dim(i) for i in side.free]
    theirs: list[ExprLike] = [Expr.range(i) for i in range(len(other.free))]
    results = [*(Expr.dim(i) for i in side.batch), *(own + theirs if operand == 0 else theirs + own)]
    return [reads(full(side.sizes), results, ranges=full(other.sizes[i] for i in other.free))]


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """One einsum: equal labels for batch and for contracted dimensions."""
    left, right = _sides(instruction)
    a_axes = list(range(len(left.sizes)))
    b_axes = [len(left.sizes) + i for i in range(len(right.sizes))]
    for i, j in zip(left.batch + left.contracted, right.batch + right.contracted, strict=True):
        b_axes[j] = a_axes[i]
    out = [a_axes[i] for i in left.batch + left.free] + [b_axes[i] for i in right.free]
    return sum_of_products(operands[0], a_axes, operands[1], b_axes, out, numpy_dtype(instruction.shape.dtype))


register(Op("dot", output_to_input, input_to_output, evaluate, methods=("dot", "dot_general")))
