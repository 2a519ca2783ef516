"""The indexing rule of bitcast."""

from __future__ import annotations

from ..._core import Expr, IndexingMap, Instruction, Shape, buffer_elements, linear_index, logical_index
from ...types import ShapeIndex, Unknown
from .._indexing.delinearize import delinearize
from .._indexing.maps import full_bounds, simplify_maps, single_map
from .._rule import ExprLike, Footprint, OperandIndexing, RuleContext, RuleResult
from .attributes import is_tiled, major_to_minor, mismatch, width_of


def _between(source: Shape, target: Shape) -> OperandIndexing:
    reason = mismatch(source, target)
    if reason is not None:
        return Unknown(reason)
    into, of = max(1, width_of(source) // width_of(target)), max(1, width_of(target) // width_of(source))
    if is_tiled(source) or is_tiled(target):
        return _through_positions(source, target, into, of)
    from_order, to_order = major_to_minor(source), major_to_minor(target)
    sizes, lengths = source.dimensions, target.dimensions
    indices = delinearize(
        [*(Expr.dim(i) for i in from_order), Expr.range(0)],
        [*(sizes[i] for i in from_order), into],
        [*(lengths[i] for i in to_order), of],
    )
    results: list[ExprLike] = [0] * target.rank
    for i, index in zip(to_order, indices[:-1], strict=True):
        results[i] = index
    return simplify_maps(single_map(full_bounds(sizes), results, ranges=[(0, into - 1)] if into > 1 else []))


def _through_positions(source: Shape, target: Shape, into: int, of: int) -> OperandIndexing:
    through = linear_index(source)
    if into > 1 or of > 1:
        n = buffer_elements(source)
        position = Expr.dim(0) * into + Expr.range(0) if into > 1 else Expr.dim(0) // of
        ranges = [(0, into - 1)] if into > 1 else []
        through = through.then(IndexingMap([(0, n - 1)], [position], ranges=ranges))
    return simplify_maps(Footprint((((), through.then(logical_index(target))),)))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From the output's place in memory to the operand's element there."""
    return [_between(instruction.shape, instruction.operands[0].shape)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From the operand's place in memory to the output's element there."""
    return [_between(instruction.operands[0].shape, instruction.shape)]
