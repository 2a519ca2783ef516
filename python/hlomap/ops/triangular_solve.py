"""triangular-solve: x with op(a) x = b, or x op(a) = b, for triangular matrices a in the last two dimensions.

op(a) is a, its transpose or its adjoint.  Unknown i of a column needs, where op(a) is lower on the left, rows up to i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._core import Expr, Instruction
from ._maps import dim_exprs, full, reads
from ._op import Answer, Context, ExprLike, Leaf, Op, Run, Value, register
from ._shapes import agree, must


@dataclass(frozen=True)
class _Plan:
    """``axis`` is the dimension of b that the unknowns number; ``forward``: each needs those before it."""

    sizes: tuple[int, ...]
    n: int
    axis: int
    lower: bool
    forward: bool
    unit: bool


def _plan(instruction: Instruction) -> _Plan:
    attributes = instruction.attributes
    a, b = (tuple(x.shape.dimensions) for x in instruction.operands)
    left, lower = (bool(attributes.get(name, False)) for name in ("left_side", "lower"))
    must(len(a) == len(b) >= 2 and a[-1] == a[-2], "square matrices of the same rank")
    agree(instruction.shape.dimensions, b, "an output")
    axis = len(b) - (2 if left else 1)
    agree([*a[:-2], a[-1]], [*b[:-2], b[axis]], "a system")
    transposed = attributes.get("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"
    # Lower on the left goes forward; a transpose and the other side turn it round.
    forward = lower ^ transposed ^ (not left)
    return _Plan(b, b[axis], axis, lower, forward, bool(attributes.get("unit_diagonal", False)))


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The triangle up to the unknown; of b the same column up to it."""
    plan = _plan(instruction)
    dims, last = full(plan.sizes), plan.n - 1
    own, other, diagonal = Expr.dim(plan.axis), Expr.range(0), Expr.range(1)
    # Of the triangle's two indices the one nearer to the unknown is `other`, up to the unknown itself.
    until = own - other if plan.forward else other - own
    between = other - diagonal if plan.forward else diagonal - other
    row, column = (other, diagonal) if plan.lower == plan.forward else (diagonal, other)
    batch = dim_exprs(len(plan.sizes) - 2)
    triangle = reads(
        dims,
        [*batch, row, column],
        ranges=[(0, last)] * 2,
        constraints=[(until, 0, last), (between, int(plan.unit), last)],
    )
    results: list[ExprLike] = [*dim_exprs(len(plan.sizes))]
    results[plan.axis] = other
    return [triangle, reads(dims, results, ranges=[(0, last)], constraints=[(until, 0, last)])]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """From an element to the unknowns that come after it."""
    plan = _plan(instruction)
    last = plan.n - 1
    if operand == 1:
        results: list[ExprLike] = [*dim_exprs(len(plan.sizes))]
        results[plan.axis] = Expr.range(0)
        after = Expr.range(0) - Expr.dim(plan.axis)
        constraint = (after if plan.forward else -after, 0, last)
        return [reads(full(plan.sizes), results, ranges=[(0, last)], constraints=[constraint])]
    n_batch = len(plan.sizes) - 2
    row, column = Expr.dim(n_batch), Expr.dim(n_batch + 1)
    later, earlier = (row, column) if plan.lower == plan.forward else (column, row)
    after, between = Expr.range(0) - later, later - earlier
    if not plan.forward:
        after, between = -after, -between
    free = len(plan.sizes) - 1 + len(plan.sizes) - 2 - plan.axis
    results = [*dim_exprs(n_batch), 0, 0]
    results[plan.axis], results[free] = Expr.range(0), Expr.range(1)
    return [
        reads(
            full([*plan.sizes[:-2], plan.n, plan.n]),
            results,
            ranges=[(0, last), (0, plan.sizes[free] - 1)],
            constraints=[(after, 0, last), (between, int(plan.unit), last)],
        )
    ]


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Substitution on the left side, to which the right side is transposed."""
    attributes = instruction.attributes
    a, b = np.asarray(operands[0]), np.asarray(operands[1])
    a = np.tril(a) if attributes.get("lower", False) else np.triu(a)
    kind = attributes.get("transpose_a", "NO_TRANSPOSE")
    if kind != "NO_TRANSPOSE":
        a = np.swapaxes(a, -1, -2)
    if kind == "ADJOINT":
        a = np.conj(a)
    left = bool(attributes.get("left_side", False))
    if not left:
        a, b = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
    n = a.shape[-1]
    is_lower = bool(attributes.get("lower", False)) ^ (kind != "NO_TRANSPOSE") ^ (not left)
    x = np.zeros_like(b)
    for i in range(n) if is_lower else reversed(range(n)):
        known = slice(0, i) if is_lower else slice(i + 1, n)
        rest = b[..., i, :] - np.einsum("...k,...kc->...c", a[..., i, known], x[..., known, :])
        x[..., i, :] = rest if attributes.get("unit_diagonal", False) else rest / a[..., i, i, None]
    return x if left else np.swapaxes(x, -1, -2)


register(Op("triangular-solve", output_to_input, input_to_output, evaluate))
