"""reshape: output and operand elements with the same row-major linear index are equal.

Sections Reshape and Collapse of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction, Shape, _delinearize as delinearize
from ..lazy import np
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, map_to_all, simplify_maps, single_map
from ._indexing.sizes_in_use import keeps_linear_order, over_approximate
from ._known import moved
from ._numpy.sizes_in_use import reshaped_sizes
from ._operations import moves_elements
from ._registry import register
from ._rule import OperandIndexing, OpRule, RuleContext, RuleResult


def _map_between(a: Shape, b: Shape) -> OperandIndexing:
    if not keeps_linear_order(a, b):
        return over_approximate(map_to_all(a, b))
    return simplify_maps(single_map(a, delinearize(dim_exprs(a.rank), a.dimensions, b.dimensions)))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[delinearize(linear index of d)]."""
    return [_map_between(instruction.shape, instruction.operands[0].shape)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """output[delinearize(linear index of d)]."""
    return [_map_between(instruction.operands[0].shape, instruction.shape)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.reshape``, whose default order is row-major, too, of the elements in use."""
    return np.reshape(operands[0], reshaped_sizes(instruction, operands[0].shape))


register(
    OpRule(
        "reshape",
        output_to_input,
        input_to_output,
        evaluate,
        known_values=moved(),
        builder_methods=("reshape", "collapse"),
        operations=moves_elements,
    )
)
