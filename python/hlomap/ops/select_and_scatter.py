"""select-and-scatter: each window of the operand selects one element, where the window's source element is scattered.

Which element of a window is selected depends on the values, so each element depends on all elements that share a window
with it.  Section SelectAndScatter of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Expr, Instruction
from ..lazy import np
from ._attributes import WindowedDim, windowed_dims
from ._indexing.maps import full_bounds, map_to_all, map_to_scalar, single_map
from ._indexing.window import map_by_windows, operand_index, output_index, window_variables
from ._numpy.window import sliding_windows
from ._op import Array, EvalContext, OpRule, RuleContext, RuleResult, ShapeIndex, Value, register
from ._operations import selected_and_scattered
from ._rule import Bounds, ExprLike, Footprint
from ._shapes import require


def window_dims(instruction: Instruction) -> list[WindowedDim]:
    """The windowed dimensions."""
    operand, source = (x.shape.dimensions for x in instruction.operands[:2])
    dims = windowed_dims(instruction.attributes.get("window"), operand, source)
    require(
        all(dim.base_dilation == 1 and not dim.reversal for dim in dims),
        "expected a window without base dilation and reversal",
    )
    return dims


Constraints = list[tuple[ExprLike, int, int]]


def _windows_of_element(
    dims: Sequence[WindowedDim],
) -> tuple[list[ExprLike], list[Expr | None], list[Bounds], Constraints]:
    """The windows that contain an element d: the index of the window, and the index of d in it."""
    elements, ranges = window_variables(dims)
    indices = [
        output_index(dim, Expr.dim(i), element) for i, (dim, element) in enumerate(zip(dims, elements, strict=True))
    ]
    constraints: Constraints = [c for m in indices for c in m.constraints]
    # A window of size 1 restricts the bounds of the element itself.
    constraints += [
        (Expr.dim(i), *m.bounds) for i, m in enumerate(indices) if m.bounds != (0, dims[i].operand_size - 1)
    ]
    return [m.expr for m in indices], elements, ranges, constraints


def _elements_sharing_window(dims: Sequence[WindowedDim]) -> Footprint:
    """From an element to all that share a window with it: d + t - s, with s and t their indices in the window."""
    _, elements, ranges, constraints = _windows_of_element(dims)
    results: list[ExprLike] = []
    for i, (dim, element) in enumerate(zip(dims, elements, strict=True)):
        other: ExprLike = Expr.dim(i)
        if element is not None:
            other = Expr.dim(i) + (Expr.range(len(ranges)) - element) * dim.window_dilation
            ranges.append((0, dim.size - 1))
            constraints.append((other, 0, dim.operand_size - 1))
        results.append(other)
    return single_map(full_bounds(dim.operand_size for dim in dims), results, ranges=ranges, constraints=constraints)


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """All elements and sources of the windows that contain the element, and the init value."""
    dims = window_dims(instruction)
    sizes = instruction.shape.dimensions
    windows, _, ranges, constraints = _windows_of_element(dims)
    sources = single_map(full_bounds(sizes), windows, ranges=ranges, constraints=constraints)
    return [_elements_sharing_window(dims), sources, map_to_scalar(sizes)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements that share a window with it; for a source its window; for the init value every element."""
    dims = window_dims(instruction)
    if operand == 0:
        return [_elements_sharing_window(dims)]
    if operand == 2:
        return [map_to_all((), instruction.shape.dimensions)]
    return [map_by_windows(dims, operand_index)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Select in all windows at once; then combine the source elements of the same target one after the other."""
    data, source, init = (np.asarray(x) for x in operands)
    select, scatter = (instruction.attributes[name] for name in ("select", "scatter"))
    dims, axes = window_dims(instruction), range(data.ndim)
    count = int(np.prod([dim.size for dim in dims], dtype=np.int64))
    context.count_elements(source.size * count)

    def in_windows(array: Array, fill: object) -> Array:
        return sliding_windows(array, axes, dims, fill).reshape(source.size, count)

    element, valid = in_windows(data, 0), in_windows(np.ones(data.shape, np.bool_), False)
    number = in_windows(np.arange(data.size).reshape(data.shape), -1)
    chosen, at, found = (
        element[:, :0].sum(axis=1).astype(data.dtype),
        np.zeros(source.size, np.int64),
        np.zeros(source.size, np.bool_),
    )
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


register(OpRule("select-and-scatter", output_to_input, input_to_output, evaluate, operations=selected_and_scattered))
