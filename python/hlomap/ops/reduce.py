"""reduce: output[d] combines operand[d, r] over all r along the reduced dimensions, starting from the init value.

The operands are n arrays, then n init values; each of the n results depends on all of them, whatever the computation.
Section Reduce of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, map_to_all, map_to_scalar, on_all_outputs, range_exprs, single_map
from ._numpy.reduction import pack_results, reduce_axes
from ._registry import register
from ._rule import OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import result_shape


def _reduced(instruction: Instruction) -> tuple[int, ...]:
    return tuple(sorted(instruction.attributes["dimensions"]))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d, r] with a range r for each reduced dimension, and the init values."""
    reduced, shape, operands = _reduced(instruction), result_shape(instruction), instruction.operands
    sizes = operands[0].shape.dimensions
    kept, ranges = iter(dim_exprs(shape.rank)), iter(range_exprs(len(reduced)))
    results = [next(ranges if i in reduced else kept) for i in range(len(sizes))]
    data: OperandIndexing = single_map(shape, results, ranges=[sizes[i] for i in reduced])
    n = len(operands) // 2
    return [data] * n + [map_to_scalar(shape)] * n


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The output element without the reduced dimensions; an init value affects every element."""
    operands = instruction.operands
    if operand >= len(operands) // 2:
        return on_all_outputs(instruction, map_to_all((), result_shape(instruction)))
    reduced, shape = _reduced(instruction), operands[operand].shape
    results = [d for i, d in enumerate(dim_exprs(shape.rank)) if i not in reduced]
    return on_all_outputs(instruction, single_map(shape, results))


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Reduce along the dimensions."""
    n = len(operands) // 2
    done = reduce_axes(operands[:n], operands[n:], _reduced(instruction), instruction.called_computations[0], context)
    return pack_results(instruction.shape.is_tuple, done)


register(OpRule("reduce", output_to_input, input_to_output, evaluate))
