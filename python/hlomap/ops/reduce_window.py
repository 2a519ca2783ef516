"""reduce-window: output[o] combines the operand elements in the window at o, starting from the init value.

The operands are n arrays, then n init values.  Padding is left out.  Section ReduceWindow of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ..base.lazy import np
from ._attributes import WindowedDim, windowed_dims
from ._folding import on_integers
from ._indexing.applied import combined
from ._indexing.maps import map_to_all, map_to_scalar
from ._indexing.window import map_by_windows, operand_index, output_index
from ._numpy.reduction import in_any_order, pack_results, partial_updates, reduce_axes
from ._numpy.window import sliding_windows
from ._op import EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._rule import Footprint
from ._shapes import array_leaves, result_shape


def _dims(instruction: Instruction) -> list[WindowedDim]:
    operand = instruction.operands[0].shape.dimensions
    return windowed_dims(instruction.attributes.get("window"), operand, result_shape(instruction).dimensions)


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements in the window, a range for each dimension of the window, and the init values."""
    shape = result_shape(instruction)
    data = map_by_windows(shape.dimensions, _dims(instruction), operand_index)
    return _used(instruction, shape_index, context, data, map_to_scalar(shape))


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """The outputs whose window contains the element; an init value affects every element."""
    sizes = instruction.operands[0].shape.dimensions
    data = map_by_windows(sizes, _dims(instruction), output_index)
    start = map_to_all((), result_shape(instruction))
    outputs = array_leaves(instruction.shape)
    return [_used(instruction, output, context, data, start)[operand].at(output) for output in outputs]


def _used(
    instruction: Instruction, shape_index: ShapeIndex, context: RuleContext, data: Footprint, start: Footprint
) -> list[Footprint]:
    """The parts of the operands from which the computation computes an output."""
    n, result = len(instruction.operands) // 2, shape_index[0] if shape_index else 0
    # A window of padding alone has the init value.
    found = combined(instruction.called_computations[0], n, result, context, may_have_none=True)
    return [*(found.of(n + k, data) for k in range(n)), *(found.of(k, start) for k in range(n))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Dilate and pad the operands, take all windows, reduce the elements that are not padding."""
    n = len(operands) // 2
    dims = _dims(instruction)
    axes = range(len(dims))
    windows = [sliding_windows(x, axes, dims, 0) for x in operands[:n]]
    valid = None
    if any(dim.pad_low > 0 or dim.pad_high > 0 or dim.base_dilation > 1 for dim in dims):
        valid = sliding_windows(np.ones(operands[0].shape, np.bool_), axes, dims, False)
    window_axes = tuple(range(len(dims), 2 * len(dims)))
    done = reduce_axes(
        windows, operands[n:], window_axes, instruction.called_computations[0], context, valid, rounded_bytes=2
    )
    return pack_results(instruction.shape.is_tuple, done)


register(
    "reduce-window",
    Maps(output_to_input, input_to_output),
    Semantics(evaluate, operations="reduced", partial_results=partial_updates),
    values=Values(folds=on_integers(evaluate, in_any_order)),
)
