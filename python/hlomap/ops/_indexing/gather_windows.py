"""Maps between an array and its windows at index vectors, as gather reads and scatter updates them.

An element of a window lies in the operand at its offset in the window plus the start of the window
(:class:`~hlomap.ops._attributes.GatherDimensions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..._core import Expr, Instruction
from .._attributes import GatherDimensions
from .._rule import NOTHING, Bounds, ExprLike, Footprint, RuleContext
from .index_vectors import clamp, index_vectors, keep
from .maps import dim_exprs, single_map

Constraints = list[tuple[ExprLike, int, int]]


def _starts(
    instruction: Instruction, d: GatherDimensions, vector: Sequence[Expr], context: RuleContext
) -> Iterator[tuple[dict[int, ExprLike], list[Any], Constraints]]:
    """By operand dimension the start of a vector's window, with the runtime variables and what holds of the vector.

    Without clamping, a runtime start has one value more on either side, which represents all starts out of bounds.
    """
    outside = 0 if d.clamps else 1
    bounds_of = {k: (-outside, d.last_start(p) + outside) for p, k in d.start_components.items()}
    bounds = [bounds_of[k] for k in range(len(bounds_of))]
    indices = instruction.operands[d.indices_operand]
    adjust = clamp if d.clamps else keep
    for part in index_vectors(indices, d.indices_operand, d.index_vector_dim, vector, bounds, adjust, context):
        yield {p: part.components[k] for p, k in d.start_components.items()}, part.runtime, part.constraints


def window_to_operand(instruction: Instruction, d: GatherDimensions, context: RuleContext) -> Footprint:
    """From an element of the windows to the operand element it is read from or combined into."""
    dims = dim_exprs(len(d.output_sizes))
    paired = {p: d.batch_dims[i] for i, p in d.paired_dims.items()}
    found = NOTHING
    for starts, runtime, constraints in _starts(
        instruction, d, [dims[o] for _, o in sorted(d.batch_dims.items())], context
    ):
        results: list[ExprLike] = []
        if any(isinstance(start, int) and not 0 <= start <= d.last_start(p) for p, start in starts.items()):
            continue
        for p in range(len(d.operand_sizes)):
            offset: ExprLike = dims[d.window_dims[p]] if p in d.window_dims else 0
            start = starts.get(p, 0)
            if not isinstance(start, int) and not d.clamps:
                constraints.append((start, 0, d.last_start(p)))
            results.append(dims[paired[p]] if p in paired else offset + start)
        found += single_map(d.output_sizes, results, runtime=runtime, constraints=constraints)
    return found


def operand_to_windows(instruction: Instruction, d: GatherDimensions, context: RuleContext) -> Footprint:
    """From an operand element to that element in every window that covers it; ranges number the index vectors."""
    if 0 in d.output_sizes:
        return NOTHING
    vector, ranges = batch_indices(d.indices_sizes, d.paired_dims, sorted(d.batch_dims))
    indices = dim_exprs(len(d.operand_sizes))
    found = NOTHING
    for starts, runtime, constraints in _starts(instruction, d, vector, context):
        if any(isinstance(start, int) and not 0 <= start <= d.last_start(p) for p, start in starts.items()):
            continue
        results: list[ExprLike] = [0] * len(d.output_sizes)
        for i, index in zip(sorted(d.batch_dims), vector, strict=True):
            results[d.batch_dims[i]] = index
        dims: list[int | Bounds] = [*d.operand_sizes]
        for p, window_size in enumerate(d.window_sizes):
            if p in d.paired_dims.values():
                continue
            start = starts.get(p, 0)
            if isinstance(start, int):
                dims[p] = (start, start + window_size - 1)
            else:
                constraints.append((indices[p] - start, 0, window_size - 1))
                if window_size > 1 and not d.clamps:
                    constraints.append((start, 0, d.last_start(p)))
            if p in d.window_dims:
                results[d.window_dims[p]] = indices[p] - start
        found += single_map(dims, results, ranges=ranges, runtime=runtime, constraints=constraints)
    return found


def batch_indices(
    sizes: Sequence[int], paired: dict[int, int], dims: Sequence[int]
) -> tuple[list[Expr], list[tuple[int, int]]]:
    """Indices along some dimensions: the index of the dimension it is paired with, or else a range over its size."""
    results: list[Expr] = []
    ranges: list[tuple[int, int]] = []
    for i in dims:
        if i in paired:
            results.append(Expr.dim(paired[i]))
        else:
            results.append(Expr.range(len(ranges)))
            ranges.append((0, sizes[i] - 1))
    return results, ranges
