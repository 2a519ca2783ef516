"""reshape: output and operand elements with the same row-major linear index are equal.

Sections Reshape and Collapse of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Instruction, Shape
from ..types import ShapeIndex, Unknown
from ._evaluation import EvalContext, Value
from ._indexing.delinearize import delinearize
from ._indexing.maps import dim_exprs, full_bounds, map_to_all, simplify_maps, single_map
from ._indexing.sizes_in_use import keeps_linear_order, over_approximate
from ._numpy.sizes_in_use import reshaped_sizes
from ._registry import register
from ._rule import OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import n_elements


def _map_between(a: Shape, b: Shape) -> OperandIndexing:
    source, target = a.dimensions, b.dimensions
    if n_elements(source) != n_elements(target):
        return Unknown(f"sizes {tuple(source)} and {tuple(target)} have different numbers of elements")
    if not keeps_linear_order(a, b):
        return over_approximate(map_to_all(source, target))
    return simplify_maps(single_map(full_bounds(source), delinearize(dim_exprs(len(source)), source, target)))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[delinearize(linear index of d)]."""
    return [_map_between(instruction.shape, instruction.operands[0].shape)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[delinearize(linear index of d)]."""
    return [_map_between(instruction.operands[0].shape, instruction.shape)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.reshape``, whose default order is row-major, too, of the elements in use."""
    return np.reshape(operands[0], reshaped_sizes(instruction, operands[0].shape))


register(OpRule("reshape", output_to_input, input_to_output, evaluate, builder_methods=("reshape", "collapse")))
