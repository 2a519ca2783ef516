"""The indexing rule of batch-norm."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Expr, Instruction
from ...types import ShapeIndex
from .._indexing.maps import full_bounds, identity_map, single_map
from .._rule import NOTHING, Footprint, OperandIndexing, RuleContext, RuleResult
from .._shapes import require, require_sizes, shape_at

# The same element; all elements of a feature; the one of a feature; nothing.
SAME, FEATURE, ONE, NONE = "same", "feature", "one", "none"


# For each result what it needs of each operand.
NEEDS: dict[str, tuple[tuple[str, ...], ...]] = {
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
    require(0 <= feature < len(sizes), f"feature {feature}")
    for operand in instruction.operands[1:]:
        has_all = operand.shape.rank == len(sizes) and instruction.opcode == "batch-norm-grad"
        require_sizes(operand.shape.dimensions, sizes if has_all else (sizes[feature],), "an operand")
    return feature


def _between(source: Sequence[int], target: Sequence[int], feature: int, need: str) -> Footprint:
    """Arrays of all dimensions, or of the feature alone, by their feature."""
    if need == NONE:
        return NOTHING
    if need == SAME:
        return identity_map(source)
    own = Expr.dim(feature if len(source) > 1 else 0)
    if len(target) == 1:
        return single_map(full_bounds(source), [own])
    others = [i for i in range(len(target)) if i != feature]
    results = [own if i == feature else Expr.range(others.index(i)) for i in range(len(target))]
    return single_map(full_bounds(source), results, ranges=full_bounds(target[i] for i in others))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As the table says."""
    feature = _feature(instruction)
    needs = NEEDS[instruction.opcode][leaf[0] if leaf else 0]
    source = shape_at(instruction.shape, leaf).dimensions
    return [
        _between(source, operand.shape.dimensions, feature, need)
        for operand, need in zip(instruction.operands, needs, strict=True)
    ]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """As the table says, read the other way."""
    feature = _feature(instruction)
    source = instruction.operands[operand].shape.dimensions
    parts: list[OperandIndexing] = []
    for i, needs in enumerate(NEEDS[instruction.opcode]):
        at = (i,) if instruction.shape.is_tuple else ()
        parts.append(_between(source, shape_at(instruction.shape, at).dimensions, feature, needs[operand]).at(at))
    return parts
