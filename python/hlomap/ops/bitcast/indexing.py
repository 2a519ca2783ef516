"""Indexing rules of bitcast."""

from __future__ import annotations

from ..._core import (
    Expr,
    IndexingMap,
    Instruction,
    Shape,
    _delinearize as delinearize,
    buffer_elements,
    linear_index,
    logical_index,
)
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.maps import full_bounds, simplify_maps, single_map
from .._rule import ExprLike, Footprint, OperandIndexing, RuleContext, RuleResult
from .attributes import is_tiled, major_to_minor, mismatch, width_of


def _map_between(source: Shape, target: Shape) -> OperandIndexing:
    """From each element of ``source`` to the ``n_inner`` target elements in it, or to the one that it is part of."""
    reason = mismatch(source, target)
    if reason is not None:
        return Unknown(reason)
    n_inner, n_outer = max(1, width_of(source) // width_of(target)), max(1, width_of(target) // width_of(source))
    if is_tiled(source) or is_tiled(target):
        return _map_through_positions(source, target, n_inner, n_outer)
    from_order, to_order = major_to_minor(source), major_to_minor(target)
    sizes, lengths = source.dimensions, target.dimensions
    indices = delinearize(
        [*(Expr.dim(i) for i in from_order), Expr.range(0)],
        [*(sizes[i] for i in from_order), n_inner],
        [*(lengths[i] for i in to_order), n_outer],
    )
    results: list[ExprLike] = [0] * target.rank
    for i, index in zip(to_order, indices[:-1], strict=True):
        results[i] = index
    return simplify_maps(single_map(full_bounds(sizes), results, ranges=[(0, n_inner - 1)] if n_inner > 1 else []))


def _map_through_positions(source: Shape, target: Shape, n_inner: int, n_outer: int) -> OperandIndexing:
    m = linear_index(source)
    if n_inner > 1 or n_outer > 1:
        n = buffer_elements(source)
        position = Expr.dim(0) * n_inner + Expr.range(0) if n_inner > 1 else Expr.dim(0) // n_outer
        ranges = [(0, n_inner - 1)] if n_inner > 1 else []
        m = m.then(IndexingMap([(0, n - 1)], [position], ranges=ranges))
    return simplify_maps(Footprint((((), m.then(logical_index(target))),)))


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an output element to the operand element at its position in memory."""
    return [_map_between(instruction.shape, instruction.operands[0].shape)]


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """From an operand element to the output element at its position in memory."""
    return [_map_between(instruction.operands[0].shape, instruction.shape)]
