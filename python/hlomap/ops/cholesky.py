"""cholesky: the triangle l with l l^H = a (or u^H u = a) for each matrix a in the last two dimensions.

One triangle of a is read; the other triangle of the output is zero.  If a matrix is not positive definite, all elements
are NaN, so each element depends on the whole triangle.  Section Cholesky of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import dim_exprs, inverted, range_exprs, single_map
from ._numpy.numeric import accumulated
from ._op import EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, register
from ._operations import factored
from ._rule import Footprint

_REASON = "cholesky: every element depends on whether the matrix is positive definite"


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The triangle of the same matrix: any two indices, as ranges, with row and column in the triangle."""
    sizes = instruction.shape.dimensions
    row, column = range_exprs(2)
    below = row - column if bool(instruction.attributes.get("lower", False)) else column - row
    results = [*dim_exprs(len(sizes) - 2), row, column]
    triangle = single_map(sizes, results, ranges=sizes[-2:], constraints=[(below, 0, sizes[-1] - 1)])
    return [Footprint(triangle.maps, False, _REASON)]


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


register("cholesky", Maps(output_to_input, inverted(output_to_input)), Semantics(evaluate, operations=factored))
