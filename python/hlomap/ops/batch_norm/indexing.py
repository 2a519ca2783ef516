"""Indexing rules of batch-norm-*."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import full_bounds, identity_map, single_map
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import require, require_sizes, shape_at

# The same element, all elements of the feature, the one element of the feature, no element.
SAME, FEATURE, ONE, NONE = "same", "feature", "one", "none"


# By opcode, for each result and each operand the elements that the result depends on.
DEPENDENCES: dict[str, tuple[tuple[str, ...], ...]] = {
    "batch-norm-training": ((FEATURE, ONE, ONE), (FEATURE, NONE, NONE), (FEATURE, NONE, NONE)),
    "batch-norm-inference": ((SAME, ONE, ONE, ONE, ONE),),
    "batch-norm-grad": (
        (FEATURE, ONE, ONE, ONE, FEATURE),
        (FEATURE, NONE, ONE, ONE, FEATURE),
        (NONE, NONE, NONE, NONE, FEATURE),
    ),
}


def _feature(instruction: Instruction) -> int:
    feature = int(instruction.attributes["feature_index"])
    sizes = instruction.operands[0].shape.dimensions
    require(0 <= feature < len(sizes), f"feature_index {feature} is out of range")
    for operand in instruction.operands[1:]:
        has_all = operand.shape.rank == len(sizes) and instruction.opcode == "batch-norm-grad"
        require_sizes(operand.shape.dimensions, sizes if has_all else (sizes[feature],), "an operand")
    return feature


def _between(source: Sequence[int], target: Sequence[int], feature: int, elements: str) -> Footprint:
    """Maps between arrays of all dimensions, or of the feature dimension alone."""
    if elements == NONE:
        return NOTHING
    if elements == SAME:
        return identity_map(source)
    own = Expr.dim(feature if len(source) > 1 else 0)
    if len(target) == 1:
        return single_map(full_bounds(source), [own])
    others = [i for i in range(len(target)) if i != feature]
    results = [own if i == feature else Expr.range(others.index(i)) for i in range(len(target))]
    return single_map(full_bounds(source), results, ranges=full_bounds(target[i] for i in others))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements in the table."""
    feature = _feature(instruction)
    row = DEPENDENCES[instruction.opcode][leaf[0] if leaf else 0]
    source = shape_at(instruction.shape, leaf).dimensions
    return [
        _between(source, operand.shape.dimensions, feature, elements)
        for operand, elements in zip(instruction.operands, row, strict=True)
    ]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements in the table, in the other direction."""
    feature = _feature(instruction)
    source = instruction.operands[operand].shape.dimensions
    parts: list[OperandIndexing] = []
    for i, row in enumerate(DEPENDENCES[instruction.opcode]):
        at = (i,) if instruction.shape.is_tuple else ()
        parts.append(_between(source, shape_at(instruction.shape, at).dimensions, feature, row[operand]).at(at))
    return parts
