"""cholesky: of each symmetric matrix in the last two dimensions the triangle whose product with its transpose it is.

Of the operand one triangle is read; the other one of the output is zero.  A matrix that is not positive definite
has NaN everywhere, so each element depends on the whole triangle.
"""

from __future__ import annotations

from .._core import Expr, Instruction
from ._maps import dim_exprs, full, reads
from ._op import Answer, Context, ExprLike, Footprint, Leaf, Op, register
from ._shapes import agree, must
from .meaning.cholesky import evaluate

_REASON = "cholesky: the whole triangle decides whether there is a result"


def _sizes(instruction: Instruction) -> tuple[int, ...]:
    sizes = tuple(instruction.shape.dimensions)
    must(len(sizes) >= 2 and sizes[-1] == sizes[-2], "square matrices")
    agree(instruction.operands[0].shape.dimensions, sizes, "the operand")
    return sizes


def _over(footprint: Footprint) -> Footprint:
    return Footprint(footprint.maps, False, _REASON)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The triangle of the same matrix."""
    sizes = _sizes(instruction)
    row, column = Expr.range(0), Expr.range(1)
    below = row - column if bool(instruction.attributes.get("lower", False)) else column - row
    results: list[ExprLike] = [*dim_exprs(len(sizes) - 2), row, column]
    triangle = reads(full(sizes), results, ranges=full(sizes[-2:]), constraints=[(below, 0, sizes[-1] - 1)])
    return [_over(triangle)]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """From the triangle to the whole output."""
    sizes = _sizes(instruction)
    row, column = dim_exprs(len(sizes))[-2:]
    below = row - column if bool(instruction.attributes.get("lower", False)) else column - row
    results: list[ExprLike] = [*dim_exprs(len(sizes) - 2), Expr.range(0), Expr.range(1)]
    triangle = reads(full(sizes), results, ranges=full(sizes[-2:]), constraints=[(below, 0, sizes[-1] - 1)])
    return [_over(triangle)]


register(Op("cholesky", output_to_input, input_to_output, evaluate))
