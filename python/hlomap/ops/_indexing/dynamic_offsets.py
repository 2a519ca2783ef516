"""The offsets of dynamic-slice and dynamic-update-slice, clamped so that the window fits.

Operands from ``first`` on are one scalar for each dimension, or one vector (the form of older HLO).  An offset whose
operand is a constant is folded; any other is a runtime variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..._core import Expr, Instruction, Shape
from .._rule import Bounds, ExprLike, Footprint, OperandIndexing
from .maps import dim_exprs, map_to_all, map_to_scalar, outside, single_map

RuntimeOffset: TypeAlias = tuple[int, int, int, tuple[int, ...]]
"""A variable known only at run time: its bounds, which clamp it, the operand that holds it, and its index there."""
Offset: TypeAlias = int | RuntimeOffset


def clamped_offsets(
    operands: Sequence[Instruction], first: int, sizes: Sequence[int], window: Sequence[int]
) -> list[Offset]:
    """The offset along each dimension of a window in an array of those sizes."""
    as_vector = len(operands) == first + 1 and operands[first].shape.rank == 1
    found: list[Offset] = []
    for i, (size, window_size) in enumerate(zip(sizes, window, strict=True)):
        limit = size - window_size
        operand, element = (first, i) if as_vector else (first + i, 0)
        known = operands[operand]._integer(element)
        if known is not None:
            found.append(min(max(known, 0), limit))
        else:
            found.append((0, limit, operand, (i,) if as_vector else ()))
    return found


def _starts(offsets: Sequence[Offset]) -> tuple[list[ExprLike], list[RuntimeOffset]]:
    """The offsets as expressions, with the runtime variables these use."""
    runtime: list[RuntimeOffset] = []
    starts: list[ExprLike] = []
    for offset in offsets:
        if isinstance(offset, int):
            starts.append(offset)
        else:
            starts.append(Expr.runtime(len(runtime)))
            runtime.append(offset)
    return starts, runtime


def from_window(window: Sequence[int], offsets: Sequence[Offset]) -> Footprint:
    """From the elements of a window at these offsets to the elements of the array."""
    starts, runtime = _starts(offsets)
    return single_map(
        window, [d + start for d, start in zip(dim_exprs(len(window)), starts, strict=True)], runtime=runtime
    )


def to_window(sizes: Sequence[int], window: Sequence[int], offsets: Sequence[Offset]) -> Footprint:
    """From the elements of the array that are in the window to the elements of the window."""
    starts, runtime = _starts(offsets)
    dims: list[int | Bounds] = [*sizes]
    results = [d - start for d, start in zip(dim_exprs(len(sizes)), starts, strict=True)]
    constraints = []
    for i, (start, extent) in enumerate(zip(starts, window, strict=True)):
        if isinstance(start, int):
            dims[i] = (start, start + extent - 1)
        else:
            constraints.append((results[i], 0, extent - 1))
    return single_map(dims, results, runtime=runtime, constraints=constraints)


def outside_window(sizes: Sequence[int], window: Sequence[int], offsets: Sequence[Offset]) -> Footprint:
    """The identity on the elements of the array that are not in the window, piece by piece."""
    indices = dim_exprs(len(sizes))
    runtime: list[RuntimeOffset] = []
    in_window: list[tuple[Expr, int, int, int, int]] = []
    for d, size, extent, offset in zip(indices, sizes, window, offsets, strict=True):
        if extent == size:
            continue  # the window fills the dimension
        if isinstance(offset, int):
            in_window.append((d, offset, offset + extent - 1, 0, size - 1))
        else:
            in_window.append((d - Expr.runtime(len(runtime)), 0, extent - 1, extent - size, size - 1))
            runtime.append(offset)
    return outside(sizes, indices, in_window, runtime=runtime)


def reads_offsets(shape: Shape, offsets: Sequence[Instruction]) -> list[OperandIndexing]:
    """Every element of an output of this shape depends on every offset."""
    if len(offsets) == 1:
        return [map_to_all(shape, offsets[0].shape)]
    return [map_to_scalar(shape)] * len(offsets)
