"""slice: output[d] = operand[start + stride * d].

Section Slice of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import full_bounds, single_map
from ._registry import register
from ._rule import ExprLike, OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes


def _limits(instruction: Instruction) -> tuple[tuple[int, int, int], ...]:
    """Start, limit and stride of each dimension."""
    limits: tuple[tuple[int, int, int], ...] = tuple(instruction.attributes["slice"])
    for (start, limit, stride), size in zip(limits, instruction.operands[0].shape.dimensions, strict=True):
        require(
            0 <= start <= limit <= size and stride > 0,
            f"slice [{start}:{limit}:{stride}] is invalid for {size} elements",
        )
    require_sizes(
        instruction.shape.dimensions, (-((start - limit) // stride) for start, limit, stride in limits), "the output"
    )
    return limits


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[start + stride * d]."""
    limits = _limits(instruction)
    results: list[ExprLike] = [start + stride * Expr.dim(i) for i, (start, _, stride) in enumerate(limits)]
    return [single_map(full_bounds(instruction.shape.dimensions), results)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[(d - start) / stride], where the stride divides d - start."""
    limits = _limits(instruction)
    dims: list[tuple[int, int]] = []
    results: list[ExprLike] = []
    constraints: list[tuple[ExprLike, int, int]] = []
    for i, ((start, _, stride), size) in enumerate(zip(limits, instruction.shape.dimensions, strict=True)):
        dims.append((start, start + (size - 1) * stride))
        shifted = Expr.dim(i) - start
        results.append(shifted // stride)
        if stride > 1:
            constraints.append((shifted % stride, 0, 0))
    return [single_map(dims, results, constraints=constraints)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Basic slicing."""
    limits = _limits(instruction)
    return np.asarray(operands[0])[tuple(slice(start, limit, stride) for start, limit, stride in limits)]


register(OpRule("slice", output_to_input, input_to_output, evaluate))
