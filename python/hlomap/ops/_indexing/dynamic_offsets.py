"""The offsets of dynamic-slice and dynamic-update-slice, clamped so that the window fits.

Operands from ``first`` on are one scalar for each dimension, or one vector (the form of older HLO).  An offset whose
operand is a constant is folded; any other is a runtime variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..._core import Expr, Instruction, Variable
from ...errors import HlomapError
from .._rule import ExprLike, Footprint, OperandIndexing
from .._shapes import require
from .maps import map_to_all, map_to_scalar


@dataclass(frozen=True)
class RuntimeOffset:
    """An offset known only at run time: element ``index`` of operand ``source``, clamped to ``[0, limit]``."""

    limit: int
    source: int
    index: tuple[int, ...]


Offset: TypeAlias = int | RuntimeOffset


def clamped_offsets(instruction: Instruction, first: int, sizes: Sequence[int], window: Sequence[int]) -> list[Offset]:
    """The offset along each dimension of a window in an array of those sizes."""
    operands = instruction.operands[first:]
    require(
        len(sizes) == len(window) and all(w <= s for w, s in zip(window, sizes, strict=True)),
        "the window is larger than the array",
    )
    as_vector = len(operands) == 1 and operands[0].shape.rank == 1
    found: list[Offset] = []
    for i, (size, window_size) in enumerate(zip(sizes, window, strict=True)):
        limit = size - window_size
        known = None if as_vector else literal_integer(operands[i])
        if known is not None:
            found.append(min(max(known, 0), limit))
        else:
            found.append(RuntimeOffset(limit, first, (i,)) if as_vector else RuntimeOffset(limit, first + i, ()))
    return found


def literal_integer(instruction: Instruction) -> int | None:
    """The integer that a scalar constant holds; None where it is something else or not printed in full."""
    if instruction.opcode != "constant" or not instruction.shape.is_array or instruction.shape.n_elements != 1:
        return None
    try:
        literal = instruction.literal
    except HlomapError:
        return None
    if literal is None or literal.dtype.kind == "c":
        return None
    return int(np.asarray(literal).reshape(())[()])


def offset_exprs(offsets: Sequence[Offset], dims: Iterable[int]) -> tuple[dict[int, ExprLike], list[Variable]]:
    """The offsets along some dimensions as expressions, with the runtime variables these use."""
    found: dict[int, ExprLike] = {}
    runtime: list[Variable] = []
    for i in dims:
        offset = offsets[i]
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
        map_to_all(sizes, operand.shape.dimensions) if operand.shape.rank else map_to_scalar(sizes)
        for operand in instruction.operands[first:]
    ]


def offset_reaches(instruction: Instruction, operand: int) -> Footprint:
    """An offset affects every output element."""
    return map_to_all(instruction.operands[operand].shape.dimensions, instruction.shape.dimensions)
