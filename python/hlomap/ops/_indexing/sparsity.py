"""Where the elements of sparse operands belong, and the operands of a product behind the first two."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction, Variable
from ...answers import Unknown
from .._attributes import SparseSide, scale_operands
from .._rule import ExprLike, Footprint, OperandIndexing
from .maps import map_to_all

_SCALES = "XLA does not document which elements a scale or zero of block_scaling_config belongs to"


def whole_index(side: SparseSide, index: Sequence[ExprLike], runtime: list[Variable]) -> Expr:
    """The index of a held element in the whole operand, along the sparse dimension.

    Its position in the block is a new variable of ``runtime``.
    """
    runtime.append(Variable(None, 0, side.block - 1, source=side.index_operand, element=index))
    return Expr.runtime(len(runtime) - 1) + side.block * index[side.dimension]


def extra_operand(
    instruction: Instruction, sparse: Sequence[SparseSide | None], operand: int, *, to_output: bool
) -> int | OperandIndexing:
    """The number of the sparse operand that operand has the indices of; otherwise its maps."""
    for k, side in enumerate(sparse):
        if side is not None and side.index_operand == operand:
            return k
    if operand not in scale_operands(instruction):
        return Unknown("an operand that no configuration names")
    sizes = (instruction.operands[operand].shape.dimensions, instruction.shape.dimensions)
    return Footprint(map_to_all(*(sizes if to_output else sizes[::-1])).maps, False, _SCALES)
