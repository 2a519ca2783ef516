"""topk: the k greatest or least elements of each row along the last dimension, with their places.

Of equal elements the first come first; floats are in total order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import Expr, Instruction
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, on_all_outputs, single_map
from ._numpy.numeric import total_order_key, widened
from ._registry import register
from ._rule import OpRule, RuleContext, RuleResult
from ._shapes import require_sizes


def _kept(instruction: Instruction) -> tuple[int, ...]:
    sizes = tuple(instruction.operands[0].shape.dimensions)
    kept = (*sizes[:-1], int(instruction.attributes["k"]))
    for output in instruction.shape.tuple_shapes:
        require_sizes(output.dimensions, kept, "an output")
    return kept


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row."""
    kept = _kept(instruction)
    length = instruction.operands[0].shape.dimensions[-1]
    return [single_map(full_bounds(kept), [*dim_exprs(len(kept) - 1), Expr.range(0)], ranges=[(0, length - 1)])]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Every place of both outputs of the row."""
    kept = _kept(instruction)
    results = [*dim_exprs(len(kept) - 1), Expr.range(0)]
    row = single_map(full_bounds(instruction.operands[0].shape.dimensions), results, ranges=[(0, kept[-1] - 1)])
    return on_all_outputs(instruction, row)


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A stable sort of keys that compare as the elements do."""
    data = np.asarray(operands[0])
    key = np.asarray(total_order_key(data))
    key = key.astype(widened(key.dtype))
    if instruction.attributes.get("largest", True):
        key = np.invert(key)
    places = np.argsort(key, axis=-1, kind="stable")[..., : int(instruction.attributes["k"])]
    return np.take_along_axis(data, places, -1), places.astype(np.int32)


register(OpRule("topk", output_to_input, input_to_output, evaluate, builder_methods=("top_k",)))
