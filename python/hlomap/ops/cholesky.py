"""cholesky: the triangle l with l l^H = a (or u^H u = a) for each matrix a in the last two dimensions.

One triangle of a is read; the other triangle of the output is zero.  If a matrix is not positive definite, all elements
are NaN, so each element depends on the whole triangle.  Section Cholesky of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..lazy import np
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, single_map
from ._numpy.numeric import accumulated
from ._operations import factored
from ._registry import register
from ._rule import ExprLike, Footprint, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes

_REASON = "cholesky: every element depends on whether the matrix is positive definite"


def _sizes(instruction: Instruction) -> tuple[int, ...]:
    sizes = tuple(instruction.shape.dimensions)
    require(len(sizes) >= 2 and sizes[-1] == sizes[-2], "expected square matrices")
    require_sizes(instruction.operands[0].shape.dimensions, sizes, "the operand")
    return sizes


def _to_triangle(instruction: Instruction, row: Expr, column: Expr) -> RuleResult:
    """Any two indices of the same matrix, as ranges, where row and column are in the triangle."""
    sizes = _sizes(instruction)
    below = row - column if bool(instruction.attributes.get("lower", False)) else column - row
    results: list[ExprLike] = [*dim_exprs(len(sizes) - 2), Expr.range(0), Expr.range(1)]
    triangle = [(below, 0, sizes[-1] - 1)]
    maps = single_map(full_bounds(sizes), results, ranges=full_bounds(sizes[-2:]), constraints=triangle).maps
    return [Footprint(maps, False, _REASON)]


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The triangle of the same matrix."""
    return _to_triangle(instruction, Expr.range(0), Expr.range(1))


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From the triangle to the whole output."""
    return _to_triangle(instruction, *dim_exprs(instruction.shape.rank)[-2:])


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """The Cholesky-Banachiewicz algorithm by columns, for all matrices at once."""
    # Small floats are rounded once, at the end.
    operand = np.asarray(operands[0]).astype(accumulated(operands[0].dtype), copy=False)
    lower = bool(instruction.attributes.get("lower", False))
    a = operand if lower else np.conj(np.swapaxes(operand, -1, -2))
    factor = np.zeros_like(a)
    context.count_steps(a.shape[-1])
    for j in range(a.shape[-1]):
        column = a[..., j:, j] - (factor[..., j:, :j] * np.conj(factor[..., j : j + 1, :j])).sum(-1)
        pivot = np.sqrt(column[..., 0].real)
        factor[..., j:, j] = column / pivot[..., None]
        factor[..., j, j] = pivot
    failed = np.isnan(factor).any(axis=(-1, -2), keepdims=True)
    factor = np.where(failed, np.array(np.nan, factor.dtype), factor)
    return factor if lower else np.conj(np.swapaxes(factor, -1, -2))


register(OpRule("cholesky", output_to_input, input_to_output, evaluate, operations=factored))
