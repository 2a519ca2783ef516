"""reverse: output[..., d, ...] = operand[..., size - 1 - d, ...] along each of its dimensions.

Section Rev of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..lazy import np
from ._indexing.maps import full_bounds, single_map
from ._indexing.sizes_in_use import is_dynamic, over_approximate
from ._op import EvalContext, RuleContext, RuleResult, ShapeIndex, Value, moving, register
from ._rule import OperandIndexing


def _mirrored(instruction: Instruction) -> OperandIndexing:
    sizes = instruction.shape.dimensions
    along = tuple(instruction.attributes["dimensions"])
    varying = [i for i in along if is_dynamic(instruction.operands[0].shape, i)]
    if varying:
        # The last element in use is the first of the result: d + its mirror is less than the bound.
        ranges = {i: Expr.range(k) for k, i in enumerate(varying)}
        mirror = [ranges.get(i, n - 1 - Expr.dim(i) if i in along else Expr.dim(i)) for i, n in enumerate(sizes)]
        return over_approximate(
            single_map(
                full_bounds(sizes), mirror, ranges=full_bounds(sizes[i] for i in varying),
                constraints=[(Expr.dim(i) + ranges[i], 0, sizes[i] - 1) for i in varying],
            )
        )  # fmt: skip
    return single_map(
        full_bounds(sizes), [n - 1 - Expr.dim(i) if i in along else Expr.dim(i) for i, n in enumerate(sizes)]
    )


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[size - 1 - d]."""
    return [_mirrored(instruction)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The map is its own inverse."""
    return [_mirrored(instruction)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """``np.flip``."""
    return np.flip(operands[0], tuple(instruction.attributes["dimensions"]))


register(moving("reverse", output_to_input, input_to_output, evaluate, builder_methods=("rev",)))
