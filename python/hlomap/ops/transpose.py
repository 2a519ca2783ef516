"""transpose: output[d] = operand[e] with e[dimensions[i]] = d[i].

Section Transpose of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import full_bounds, single_map
from ._registry import register
from ._rule import OpRule, RuleContext, RuleResult
from ._shapes import require, require_sizes


def _permutation(instruction: Instruction) -> tuple[int, ...]:
    permutation = tuple(instruction.attributes["dimensions"])
    require(
        sorted(permutation) == list(range(instruction.shape.rank)),
        f"dimensions {list(permutation)} are not a permutation",
    )
    sizes = instruction.operands[0].shape.dimensions
    require_sizes(instruction.shape.dimensions, (sizes[p] for p in permutation), "the output")
    return permutation


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Operand dimension dimensions[i] has the index of output dimension i."""
    permutation = _permutation(instruction)
    results = [Expr.dim(permutation.index(p)) for p in range(len(permutation))]
    return [single_map(full_bounds(instruction.shape.dimensions), results)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Output dimension i has the index of operand dimension dimensions[i]."""
    permutation = _permutation(instruction)
    return [single_map(full_bounds(instruction.operands[0].shape.dimensions), [Expr.dim(p) for p in permutation])]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.transpose``."""
    return np.transpose(operands[0], _permutation(instruction))


register(OpRule("transpose", output_to_input, input_to_output, evaluate))
