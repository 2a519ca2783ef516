"""reduce-window: an output element folds the operands' elements under its window, beginning with the inits.

Operands are n arrays, then n inits.  Places outside the operands are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import on_outputs, reads, reads_all, reads_scalar
from ._numpy.reduction import folded, like_shape
from ._registry import register
from ._rule import Footprint, OperandIndexing, OpRule, RuleContext, RuleResult
from ._shapes import agree, result_sizes
from ._window import WindowDim, place_variables, spread, window_dims, windows


def _dims(instruction: Instruction) -> list[WindowDim]:
    operand = instruction.operands[0].shape.dimensions
    for other in instruction.operands[: len(instruction.operands) // 2]:
        agree(other.shape.dimensions, operand, "an operand")
    return window_dims(instruction.attributes.get("window"), operand, result_sizes(instruction))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Window after pad: a range for each place of the window."""
    dims = _dims(instruction)
    places, ranges = place_variables(dims)
    meetings = [dim.element(Expr.dim(i), place) for i, (dim, place) in enumerate(zip(dims, places, strict=True))]
    data: OperandIndexing = reads(
        [m.bounds for m in meetings],
        [m.index for m in meetings],
        ranges=ranges,
        constraints=[c for m in meetings for c in m.constraints],
    )
    n = len(instruction.operands) // 2
    return [data] * n + [reads_scalar(result_sizes(instruction))] * n


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The outputs whose window covers the element; an init goes everywhere."""
    if operand >= len(instruction.operands) // 2:
        return on_outputs(instruction, reads_all((), result_sizes(instruction)))
    dims = _dims(instruction)
    places, ranges = place_variables(dims)
    meetings = [dim.output(Expr.dim(i), place) for i, (dim, place) in enumerate(zip(dims, places, strict=True))]
    covered: Footprint = reads(
        [m.bounds for m in meetings],
        [m.index for m in meetings],
        ranges=ranges,
        constraints=[c for m in meetings for c in m.constraints],
    )
    return on_outputs(instruction, covered)


def evaluate(instruction: Instruction, operands: Sequence[Value], run: EvalContext) -> Value:
    """Spread the operands out, see every window, fold the places that hold elements."""
    n = len(operands) // 2
    dims = _dims(instruction)
    axes = range(len(dims))
    seen = [windows(spread(x, axes, dims, 0), axes, dims) for x in operands[:n]]
    valid = None
    if any(dim.low > 0 or dim.high > 0 or dim.base > 1 for dim in dims):
        valid = windows(spread(np.ones(operands[0].shape, np.bool_), axes, dims, False), axes, dims)
    places = tuple(range(len(dims), 2 * len(dims)))
    done = folded(seen, operands[n:], places, instruction.called_computations[0], run, valid, rounded_bytes=2)
    return like_shape(instruction.shape.is_tuple, done)


register(OpRule("reduce-window", output_to_input, input_to_output, evaluate))
