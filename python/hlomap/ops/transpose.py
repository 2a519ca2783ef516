"""transpose: output[d] = operand[e] with e[dimensions[i]] = d[i].

Section Transpose of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._indexing.maps import dim_exprs, single_map
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, register_moving


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """Operand dimension dimensions[i] has the index of output dimension i."""
    permutation = instruction.attributes["dimensions"]
    dims = dim_exprs(len(permutation))
    return [single_map(instruction.shape, [dims[permutation.index(p)] for p in range(len(permutation))])]


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """Output dimension i has the index of operand dimension dimensions[i]."""
    permutation = instruction.attributes["dimensions"]
    dims = dim_exprs(len(permutation))
    return [single_map(instruction.operands[0].shape, [dims[p] for p in permutation])]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.transpose``."""
    return np.transpose(operands[0], instruction.attributes["dimensions"])


register_moving("transpose", output_to_input, input_to_output, evaluate)
