"""select-and-scatter: each window of the operand selects one element, where the window's source element is scattered.

Which element of a window is selected depends on the values, so each element depends on all elements that share a window
with it.  Section SelectAndScatter of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Instruction
from ..base.lazy import np
from ._attributes import WindowedDim, windowed_dims
from ._indexing.applied import combined, inexact
from ._indexing.maps import inverted, map_to_scalar
from ._indexing.window import map_by_windows, operand_index
from ._numpy.reduction import partial_updates
from ._numpy.window import sliding_windows
from ._op import Array, EvalContext, Maps, RuleContext, RuleResult, Semantics, ShapeIndex, Value, register
from ._operations import selected_and_scattered
from ._rule import NOTHING
from ._shapes import require

_REASON = "which element of a window is selected depends on the computation"


def window_dims(instruction: Instruction) -> list[WindowedDim]:
    """The windowed dimensions."""
    operand, source = (x.shape.dimensions for x in instruction.operands[:2])
    dims = windowed_dims(instruction.attributes.get("window"), operand, source)
    require(
        all(dim.base_dilation == 1 and not dim.reversal for dim in dims),
        "expected a window without base dilation and reversal",
    )
    return dims


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """All elements and sources of the windows that contain the element, and the init value.

    They matter only if the computations use them; the init value is that of elements that are not selected, too.
    """
    sizes = instruction.shape.dimensions
    windows = map_by_windows(instruction.operands[1].shape.dimensions, window_dims(instruction), operand_index)
    sources = windows.inverse(sizes)
    sharing = sources.of(((), first.then(second)) for _, first in sources.maps for _, second in windows.maps)
    shared = sharing.simplified()
    found = combined(instruction.attributes["scatter"], 1, 0, context)
    # Which element is selected does not matter if all are combined to the init value.
    compared = context.parameters_read(instruction.attributes["select"], ())
    # An element has the sources of all windows that may select it, if the selection depends on elements.
    chooses, is_certain = bool(compared), any(compared.values())
    is_kept = instruction.attributes["scatter"].root.parameter_number == 0
    return [
        NOTHING if is_kept or not chooses else shared if is_certain else inexact(shared, _REASON),
        found.of(1, sources if is_certain else inexact(sources, _REASON)),
        map_to_scalar(sizes),
    ]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Select in all windows at once; then combine the source elements of the same target one after the other."""
    data, source, init = (np.asarray(x) for x in operands)
    select, scatter = (instruction.attributes[name] for name in ("select", "scatter"))
    dims, axes = window_dims(instruction), range(data.ndim)
    count = prod(dim.size for dim in dims)
    context.count_elements(source.size * count)

    def in_windows(array: Array, fill: object) -> Array:
        return sliding_windows(array, axes, dims, fill).reshape(source.size, count)

    element, valid = in_windows(data, 0), in_windows(np.ones(data.shape, np.bool_), False)
    number = in_windows(np.arange(data.size).reshape(data.shape), -1)
    chosen, at, found = (np.zeros(source.size, dtype) for dtype in (data.dtype, np.int64, np.bool_))
    for k in range(count):
        keeps = found & np.asarray(context.apply(select, [chosen, element[:, k]]))
        replaces = valid[:, k] & ~keeps
        chosen, at = np.where(replaces, element[:, k], chosen), np.where(replaces, number[:, k], at)
        found = found | valid[:, k]
    output = np.full(data.size, init)
    updates = source.reshape(-1)
    remaining = np.flatnonzero(found)
    while remaining.size:
        # The first remaining source element of each target.
        target, first = np.unique(at[remaining], return_index=True)
        output[target] = context.apply(scatter, [output[target], updates[remaining[first]]])
        remaining = np.delete(remaining, first)
    return output.reshape(data.shape)


register(
    "select-and-scatter",
    Maps(output_to_input, inverted(output_to_input)),
    Semantics(evaluate, operations=selected_and_scattered, partial_results=partial_updates),
)
