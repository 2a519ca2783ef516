"""Maps between arrays whose dimensions have labels: dimensions with equal labels have equal indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._core import Expr, Instruction, Variable
from ...base.answers import Unknown
from .._attributes import SparseSide, scale_operands
from .._rule import Bounds, ExprLike, Footprint, OperandIndexing
from .maps import map_to_all


def map_by_labels(
    source: Sequence[int],
    target: Sequence[int],
    sizes: Mapping[int, int],
    *,
    source_blocks: Mapping[int, int] | None = None,
    target_blocks: Mapping[int, int] | None = None,
) -> tuple[list[Bounds], list[ExprLike], list[Bounds]]:
    """Dimensions, results and ranges of the map from an array with labels ``source`` to one with labels ``target``.

    ``source_blocks`` and ``target_blocks`` give block lengths by label: along such a dimension the array has one
    element for each block of ``sizes[label]`` elements.  Ranges are in the order of ``sizes`` and count elements, also
    where the target has blocks: so both sides of a product have the same range of a label in the same place.
    """
    own, theirs = source_blocks or {}, target_blocks or {}
    summed = [label for label in sizes if label in target and label not in source]
    ranges: list[Bounds] = [(0, sizes[label] - 1) for label in summed]
    results: list[ExprLike] = []
    for label in target:
        block = theirs.get(label, 1)
        index: Expr = Expr.range(summed.index(label)) if label in summed else Expr.dim(source.index(label))
        if own.get(label, 1) > 1 and label in source:
            index = index * own[label] + Expr.range(len(ranges))
            ranges.append((0, own[label] - 1))
        results.append(index // block if block > 1 else index)
    return [(0, sizes[label] // own.get(label, 1) - 1) for label in source], results, ranges


# Where the elements of sparse operands belong, and the operands of a product behind the first two.


_SCALES = "XLA does not document which elements a scale or zero of block_scaling_config belongs to"


def whole_index(side: SparseSide, index: Sequence[ExprLike], runtime: list[Variable]) -> Expr:
    """The index of a held element in the whole operand, along the sparse dimension.

    Its position in the block is a new variable of ``runtime``.
    """
    runtime.append(Variable(None, 0, side.block - 1, source=side.index_operand, element=index))
    return Expr.runtime(len(runtime) - 1) + side.block * index[side.dimension]


def extra_operand(instruction: Instruction, sparse: Sequence[SparseSide | None], operand: int) -> int | OperandIndexing:
    """The number of the sparse operand that operand has the indices of; otherwise its maps."""
    for k, side in enumerate(sparse):
        if side is not None and side.index_operand == operand:
            return k
    if operand not in scale_operands(instruction):
        return Unknown("an operand that no configuration names")
    return Footprint(map_to_all(instruction.shape, instruction.operands[operand].shape).maps, False, _SCALES)
