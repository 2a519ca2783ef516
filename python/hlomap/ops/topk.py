"""topk: the k largest or smallest elements of each row along the last dimension, and their indices.

Of equal elements the first come first, also without ``is_stable``, which permits any order of them; floats are
compared in total order.  Section TopK of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..lazy import np
from ..types import ShapeIndex
from ._evaluation import EvalContext, Value
from ._indexing.maps import dim_exprs, full_bounds, on_all_outputs, single_map
from ._numpy.numeric import total_order_key, widened
from ._operations import compared
from ._registry import register
from ._rule import OpRule, RuleContext, RuleResult
from ._shapes import require_sizes


def _output_sizes(instruction: Instruction) -> tuple[int, ...]:
    """The sizes of the outputs."""
    sizes = tuple(instruction.operands[0].shape.dimensions)
    output_sizes = (*sizes[:-1], int(instruction.attributes["k"]))
    for output in instruction.shape.tuple_shapes:
        require_sizes(output.dimensions, output_sizes, "the output")
    return output_sizes


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row."""
    output_sizes = _output_sizes(instruction)
    length = instruction.operands[0].shape.dimensions[-1]
    return [
        single_map(
            full_bounds(output_sizes), [*dim_exprs(len(output_sizes) - 1), Expr.range(0)], ranges=[(0, length - 1)]
        )
    ]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The whole row of both outputs."""
    output_sizes = _output_sizes(instruction)
    results = [*dim_exprs(len(output_sizes) - 1), Expr.range(0)]
    row = single_map(full_bounds(instruction.operands[0].shape.dimensions), results, ranges=[(0, output_sizes[-1] - 1)])
    return on_all_outputs(instruction, row)


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """A stable sort by keys with the total order of the elements."""
    data = np.asarray(operands[0])
    key = np.asarray(total_order_key(data))
    key = key.astype(widened(key.dtype))
    if instruction.attributes.get("largest", True):
        key = np.invert(key)
    indices = np.argsort(key, axis=-1, kind="stable")[..., : int(instruction.attributes["k"])]
    return np.take_along_axis(data, indices, -1), indices.astype(np.int32)


register(OpRule("topk", output_to_input, input_to_output, evaluate, builder_methods=("top_k",), operations=compared))
