"""reduce: output[d] combines operand[d, r] over all r along the reduced dimensions, starting from the init value.

The operands are n arrays, then n init values; each of the n results depends on all of them, whatever the computation.
Section Reduce of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, map_to_all, map_to_scalar, on_all_outputs, single_map
from ._numpy.reduction import pack_results, reduce_axes
from ._registry import register
from ._rule import ExprLike, OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes, result_sizes


def _reduced(instruction: Instruction) -> tuple[int, ...]:
    reduced = tuple(sorted(instruction.attributes["dimensions"]))
    sizes = instruction.operands[0].shape.dimensions
    require(
        len(set(reduced)) == len(reduced) and all(0 <= i < len(sizes) for i in reduced),
        f"dimensions {list(reduced)} are out of range or repeated",
    )
    require_sizes(result_sizes(instruction), (size for i, size in enumerate(sizes) if i not in reduced), "the output")
    for operand in instruction.operands[: len(instruction.operands) // 2]:
        require_sizes(operand.shape.dimensions, sizes, "an operand")
    return reduced


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d, r] with a range r for each reduced dimension, and the init values."""
    reduced, sizes = _reduced(instruction), result_sizes(instruction)
    operand = instruction.operands[0].shape.dimensions
    kept = iter(dim_exprs(len(sizes)))
    results: list[ExprLike] = [
        Expr.range(reduced.index(i)) if i in reduced else next(kept) for i in range(len(operand))
    ]
    data: OperandIndexing = single_map(full_bounds(sizes), results, ranges=full_bounds(operand[i] for i in reduced))
    n = len(instruction.operands) // 2
    return [data] * n + [map_to_scalar(sizes)] * n


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The output element without the reduced dimensions; an init value affects every element."""
    if operand >= len(instruction.operands) // 2:
        return on_all_outputs(instruction, map_to_all((), result_sizes(instruction)))
    reduced, sizes = _reduced(instruction), instruction.operands[operand].shape.dimensions
    results = [Expr.dim(i) for i in range(len(sizes)) if i not in reduced]
    return on_all_outputs(instruction, single_map(full_bounds(sizes), results))


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Reduce along the dimensions."""
    n = len(operands) // 2
    done = reduce_axes(operands[:n], operands[n:], _reduced(instruction), instruction.called_computations[0], context)
    return pack_results(instruction.shape.is_tuple, done)


register(OpRule("reduce", output_to_input, input_to_output, evaluate))
