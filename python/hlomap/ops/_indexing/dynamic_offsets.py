"""The offsets of dynamic-slice and dynamic-update-slice, clamped so that the window fits.

Operands from ``first`` on are one scalar for each dimension, or one vector (the form of older HLO).  An offset whose
operand is a constant is folded; any other is a runtime variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ..._core import Expr, Instruction
from .._rule import NOTHING, Bounds, ExprLike, Footprint, OperandIndexing
from .._shapes import require
from .maps import dim_exprs, full_bounds, map_to_all, map_to_scalar, single_map

RuntimeOffset: TypeAlias = tuple[int, int, int, tuple[int, ...]]
"""A variable known only at run time: its bounds, which clamp it, the operand that holds it, and its index there."""
Offset: TypeAlias = int | RuntimeOffset


def clamped_offsets(instruction: Instruction, first: int, sizes: Sequence[int], window: Sequence[int]) -> list[Offset]:
    """The offset along each dimension of a window in an array of those sizes."""
    operands = instruction.operands[first:]
    require(len(sizes) == len(window), "the window has another rank than the array")
    as_vector = len(operands) == 1 and operands[0].shape.rank == 1
    found: list[Offset] = []
    for i, (size, window_size) in enumerate(zip(sizes, window, strict=True)):
        limit = size - window_size
        require(limit >= 0, "the window is larger than the array")
        known = None if as_vector else operands[i]._integer()
        if known is not None:
            found.append(min(max(known, 0), limit))
        else:
            found.append((0, limit, first, (i,)) if as_vector else (0, limit, first + i, ()))
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
    indices, bounds = dim_exprs(len(sizes)), full_bounds(sizes)
    outside = NOTHING
    runtime: list[RuntimeOffset] = []
    constraints: list[tuple[Expr, int, int]] = []
    for i, (size, extent, offset) in enumerate(zip(sizes, window, offsets, strict=True)):
        if extent == size:
            continue  # the window fills the dimension
        if isinstance(offset, int):
            for beside in ((0, offset - 1), (offset + extent, size - 1)):
                dims = [*bounds[:i], beside, *bounds[i + 1 :]]
                outside = outside + single_map(dims, indices, runtime=runtime, constraints=constraints)
            bounds[i] = (offset, offset + extent - 1)
        else:
            distance = indices[i] - Expr.runtime(len(runtime))
            runtime.append(offset)
            for lower, upper in ((extent - size, -1), (extent, size - 1)):
                there = [*constraints, (distance, lower, upper)]
                outside = outside + single_map(bounds, indices, runtime=runtime, constraints=there)
            constraints.append((distance, 0, extent - 1))
    return outside


def reads_offsets(instruction: Instruction, first: int) -> list[OperandIndexing]:
    """Every output element depends on every offset."""
    shape, offsets = instruction.shape, instruction.operands[first:]
    if len(offsets) == 1:
        return [map_to_all(shape, offsets[0].shape)]
    return [map_to_scalar(shape)] * len(offsets)


def offset_reaches(instruction: Instruction, operand: int) -> Footprint:
    """An offset affects every output element."""
    return map_to_all(instruction.operands[operand].shape, instruction.shape)
