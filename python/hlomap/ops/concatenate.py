"""concatenate: the operands one after the other along one dimension; operand k starts where operand k - 1 ends.

Section Concatenate of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .._core import Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, single_map
from ._registry import register
from ._rule import OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import require_sizes


def _starts(instruction: Instruction, along: int) -> list[int]:
    """Where each operand starts along the dimension, and where the last one ends."""
    starts = [0]
    sizes = instruction.shape.dimensions
    for operand in instruction.operands:
        length = operand.shape.dimensions[along]
        require_sizes(operand.shape.dimensions, (*sizes[:along], length, *sizes[along + 1 :]), "an operand")
        starts.append(starts[-1] + operand.shape.dimensions[along])
    require_sizes(sizes[along : along + 1], starts[-1:], "the output")
    return starts


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand_k[d - start_k], for d in the interval of operand k."""
    (along,) = instruction.attributes["dimensions"]
    starts = _starts(instruction, along)
    parts: list[OperandIndexing] = []
    for start, end in pairwise(starts):
        dims = full_bounds(instruction.shape.dimensions)
        dims[along] = (start, end - 1)
        results = dim_exprs(len(dims))
        results[along] = results[along] - start
        parts.append(single_map(dims, results))
    return parts


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[d + start_k]."""
    (along,) = instruction.attributes["dimensions"]
    sizes = instruction.operands[operand].shape.dimensions
    results = dim_exprs(len(sizes))
    results[along] = results[along] + _starts(instruction, along)[operand]
    return [single_map(full_bounds(sizes), results)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.concatenate``."""
    return np.concatenate(operands, axis=instruction.attributes["dimensions"][0])


register(OpRule("concatenate", output_to_input, input_to_output, evaluate))
