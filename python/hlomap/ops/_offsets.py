"""Offsets of dynamic windows: clamped so that the window fits, constant where the operand is a printed constant.

Operands from ``first`` on are one scalar for each dimension, or, in old text, one vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .._core import Expr, Instruction, Variable
from ._evaluation import Value
from ._indexing.maps import reads_all, reads_scalar
from ._rule import ExprLike, Footprint, OperandIndexing
from ._shapes import literal_integer, must


@dataclass(frozen=True)
class Unfolded:
    """An offset known only when the program runs: element ``index`` of the operand ``source``, in ``[0, limit]``."""

    limit: int
    source: int
    index: tuple[int, ...]


Offset: TypeAlias = int | Unfolded


def offsets(instruction: Instruction, first: int, sizes: Sequence[int], window: Sequence[int]) -> list[Offset]:
    """The offset along each dimension of a window in an array of those sizes; a constant is folded with the clamp."""
    given = instruction.operands[first:]
    must(len(sizes) == len(window) and all(w <= s for w, s in zip(window, sizes, strict=True)), "a window that fits")
    as_vector = len(given) == 1 and given[0].shape.rank == 1
    found: list[Offset] = []
    for i, (size, extent) in enumerate(zip(sizes, window, strict=True)):
        limit = size - extent
        known = None if as_vector else literal_integer(given[i])
        if known is not None:
            found.append(min(max(known, 0), limit))
        else:
            found.append(Unfolded(limit, first, (i,)) if as_vector else Unfolded(limit, first + i, ()))
    return found


def starts(at: Sequence[Offset], along: Iterable[int]) -> tuple[dict[int, ExprLike], list[Variable]]:
    """The offsets along some dimensions as expressions, with the runtime variables these use."""
    found: dict[int, ExprLike] = {}
    runtime: list[Variable] = []
    for i in along:
        offset = at[i]
        if isinstance(offset, int):
            found[i] = offset
        else:
            found[i] = Expr.runtime(len(runtime))
            runtime.append(Variable(None, 0, offset.limit, source=offset.source, index=offset.index))
    return found, runtime


def reads_offsets(instruction: Instruction, first: int) -> list[OperandIndexing]:
    """Every output element depends on every offset."""
    sizes = instruction.shape.dimensions
    return [
        reads_all(sizes, operand.shape.dimensions) if operand.shape.rank else reads_scalar(sizes)
        for operand in instruction.operands[first:]
    ]


def offset_reaches(instruction: Instruction, operand: int) -> Footprint:
    """Every output element depends on an offset."""
    return reads_all(instruction.operands[operand].shape.dimensions, instruction.shape.dimensions)


def window_slices(values: Sequence[Value], sizes: Sequence[int], window: Sequence[int]) -> tuple[slice, ...]:
    """Where the window lies in an array."""
    given = [int(x) for v in values for x in np.asarray(v).reshape(-1)]
    corner = [min(max(x, 0), size - extent) for x, size, extent in zip(given, sizes, window, strict=True)]
    return tuple(slice(start, start + extent) for start, extent in zip(corner, window, strict=True))
