"""slice: output[d] = operand[start + stride * d].

Section Slice of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import dim_exprs, single_map
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register_moving
from ._rule import ExprLike
from ._shapes import require


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[start + stride * d]; the limits are start, end and stride of each dimension."""
    limits = instruction.attributes["slice"]
    results = [d * stride + start for d, (start, _, stride) in zip(dim_exprs(len(limits)), limits, strict=True)]
    return [single_map(instruction.shape, results)]


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """output[(d - start) / stride], where the stride divides d - start."""
    limits = instruction.attributes["slice"]
    dims: list[tuple[int, int]] = []
    results: list[ExprLike] = []
    constraints: list[tuple[ExprLike, int, int]] = []
    for d, (start, _, stride), size in zip(dim_exprs(len(limits)), limits, instruction.shape.dimensions, strict=True):
        dims.append((start, start + (size - 1) * stride))
        shifted = d - start
        results.append(shifted // stride)
        if stride > 1:
            constraints.append((shifted % stride, 0, 0))
    return [single_map(dims, results, constraints=constraints)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Basic slicing, which would cut limits that are too large."""
    require(instruction.inconsistency is None, instruction.inconsistency or "")
    limits = instruction.attributes["slice"]
    return np.asarray(operands[0])[tuple(slice(start, limit, stride) for start, limit, stride in limits)]


register_moving("slice", output_to_input, input_to_output, evaluate)
