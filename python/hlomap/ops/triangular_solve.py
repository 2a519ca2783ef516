"""triangular-solve: x with op(a) x = b, or x op(a) = b, for triangular matrices a in the last two dimensions.

op(a) is a, its transpose or its adjoint.  With op(a) lower triangular on the left, unknown i of a column depends on
rows 0 to i.  Section TriangularSolve of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import Expr, Instruction
from ..base.lazy import np
from ._indexing.maps import dim_exprs, full_bounds, inverted, single_map
from ._numpy.numeric import accumulated
from ._op import EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, register
from ._operations import solved
from ._rule import ExprLike


@dataclass(frozen=True)
class TriangularSolve:
    """``axis`` is the dimension of b along the unknowns; ``forward``: each unknown depends on those before it."""

    sizes: tuple[int, ...]
    n: int
    axis: int
    lower: bool
    forward: bool
    unit: bool


def triangular_solve_attributes(instruction: Instruction) -> TriangularSolve:
    """The attributes, and the sizes of b."""
    attributes = instruction.attributes
    b = instruction.operands[1].shape.dimensions
    left, lower = (bool(attributes.get(name, False)) for name in ("left_side", "lower"))
    axis = len(b) - (2 if left else 1)
    transposed = attributes.get("transpose_a", "NO_TRANSPOSE") != "NO_TRANSPOSE"
    # A lower triangle on the left is solved forward; a transpose reverses the direction, and so does the right side.
    forward = lower ^ transposed ^ (not left)
    return TriangularSolve(b, b[axis], axis, lower, forward, bool(attributes.get("unit_diagonal", False)))


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The part of the triangle up to the unknown, and the same column of b up to it."""
    solve = triangular_solve_attributes(instruction)
    dims, last = full_bounds(solve.sizes), solve.n - 1
    own, other, diagonal = Expr.dim(solve.axis), Expr.range(0), Expr.range(1)
    # Of the two indices of the triangle, `other` is the one nearer to the unknown, at most the unknown itself.
    until = own - other if solve.forward else other - own
    between = other - diagonal if solve.forward else diagonal - other
    row, column = (other, diagonal) if solve.lower == solve.forward else (diagonal, other)
    batch = dim_exprs(len(solve.sizes) - 2)
    triangle = single_map(
        dims,
        [*batch, row, column],
        ranges=[(0, last)] * 2,
        constraints=[(until, 0, last), (between, int(solve.unit), last)],
    )
    results: list[ExprLike] = [*dim_exprs(len(solve.sizes))]
    results[solve.axis] = other
    return [triangle, single_map(dims, results, ranges=[(0, last)], constraints=[(until, 0, last)])]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Substitution, after transposing a system with a on the right."""
    attributes, solve = instruction.attributes, triangular_solve_attributes(instruction)
    # Small floats are rounded once, at the end.
    a, b = (np.asarray(x).astype(accumulated(x.dtype), copy=False) for x in operands)
    a = np.tril(a) if solve.lower else np.triu(a)
    kind = attributes.get("transpose_a", "NO_TRANSPOSE")
    if kind != "NO_TRANSPOSE":
        a = np.swapaxes(a, -1, -2)
    if kind == "ADJOINT":
        a = np.conj(a)
    left = bool(attributes.get("left_side", False))
    if not left:
        a, b = np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)
    n = a.shape[-1]
    x = np.zeros_like(b)
    context.count_steps(n)
    for i in range(n) if solve.forward else reversed(range(n)):
        known = slice(0, i) if solve.forward else slice(i + 1, n)
        rest = b[..., i, :] - np.einsum("...k,...kc->...c", a[..., i, known], x[..., known, :])
        x[..., i, :] = rest if solve.unit else rest / a[..., i, i, None]
    return x if left else np.swapaxes(x, -1, -2)


register("triangular-solve", Maps(output_to_input, inverted(output_to_input)), Semantics(evaluate, operations=solved))
