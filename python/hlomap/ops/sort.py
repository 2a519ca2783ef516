"""sort: each row along one dimension in the order of a comparator; operands are n arrays that move together.

The comparator sees a pair of elements of each operand.  Equal elements keep their order, whether asked for or not.
"""

from __future__ import annotations

from .._core import Expr, Instruction
from ._maps import dim_exprs, full, on_outputs, reads
from ._op import Answer, Context, ExprLike, Footprint, Leaf, Op, register
from ._shapes import agree, must, result_sizes
from .meaning.sort import evaluate


def _along(instruction: Instruction) -> int:
    (along,) = instruction.attributes["dimensions"]
    sizes = result_sizes(instruction)
    must(0 <= along < len(sizes), f"dimension {along}")
    for operand in instruction.operands:
        agree(operand.shape.dimensions, sizes, "an operand")
    return int(along)


def _rows(instruction: Instruction) -> Footprint:
    along, sizes = _along(instruction), result_sizes(instruction)
    results: list[ExprLike] = [*dim_exprs(len(sizes))]
    results[along] = Expr.range(0)
    return reads(full(sizes), results, ranges=[(0, sizes[along] - 1)])


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The whole row of every operand."""
    return [_rows(instruction)] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The whole row of every output."""
    return on_outputs(instruction, _rows(instruction))


register(Op("sort", output_to_input, input_to_output, evaluate))
