"""Indexing rules of dot."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core import Expr, Instruction, Variable
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.contraction import extra_operand, whole_index
from .._indexing.maps import dim_exprs, range_exprs, simplify_maps, single_map
from .._rule import Bounds, ExprLike, OperandIndexing, RuleContext, RuleResult
from .attributes import DotOperand, dot_dimensions


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """A range for each contracted dimension, shared by both operands."""
    sides = dot_dimensions(instruction)
    if isinstance(sides, Unknown):
        return [sides] * len(instruction.operands)
    left, right = sides
    shape, n_operands = instruction.shape, len(instruction.operands)
    dims, n_batch, n_left = dim_exprs(shape.rank), len(left.batch), len(left.batch) + len(left.free)
    lhs: list[Any] = [None] * len(left.sizes)
    rhs: list[Any] = [None] * len(right.sizes)
    for d, i in zip((*dims[:n_batch], *dims[n_batch:n_left]), (*left.batch, *left.free), strict=True):
        lhs[i] = d
    for d, i in zip((*dims[:n_batch], *dims[n_left:]), (*right.batch, *right.free), strict=True):
        rhs[i] = d
    if n_operands == 2:
        for s, i, j in zip(range_exprs(len(left.contracted)), left.contracted, right.contracted, strict=True):
            lhs[i] = rhs[j] = s
        sizes = [left.sizes[i] for i in left.contracted]
        return [single_map(shape, lhs, ranges=sizes), single_map(shape, rhs, ranges=sizes)]
    terms = _sum_over_sparse(sides, lhs, rhs)
    parts: list[OperandIndexing] = []
    for k in range(n_operands):
        extra = extra_operand(instruction, (left.sparse, right.sparse), k) if k > 1 else k
        if isinstance(extra, int):
            # An index is read whether the other operand has an element there or not.
            runtime, constraints = (terms.runtime, terms.constraints) if k < 2 else ([], [])
            index = (lhs, rhs)[extra]
            extra = simplify_maps(
                single_map(shape, index, ranges=terms.ranges, runtime=runtime, constraints=constraints)
            )
        parts.append(extra)
    return parts


class _Terms(NamedTuple):
    """The products that are summed: ranges, the elements that are read, and when two elements belong to one product."""

    ranges: list[Bounds]
    runtime: list[Variable]
    constraints: list[tuple[ExprLike, int, int]]


def _sum_over_sparse(sides: tuple[DotOperand, DotOperand], lhs: list[Any], rhs: list[Any]) -> _Terms:
    """Fills in the indices along contracted dimensions: a range for each element that a sparse operand holds."""
    left, right = sides
    terms, pairs = _Terms([], [], []), list(zip(left.contracted, right.contracted, strict=True))

    def new_range(size: int) -> Expr:
        terms.ranges.append((0, size - 1))
        return Expr.range(len(terms.ranges) - 1)

    for i, j in pairs:
        if left.holds_some(i):
            lhs[i] = new_range(left.sizes[i])
        if right.holds_some(j):
            rhs[j] = new_range(right.sizes[j])
        if lhs[i] is None and rhs[j] is None:
            lhs[i] = rhs[j] = new_range(left.sizes[i])
    for i, j in pairs:
        a = whole_index(left.sparse, lhs, terms.runtime) if left.sparse and left.holds_some(i) else None
        b = whole_index(right.sparse, rhs, terms.runtime) if right.sparse and right.holds_some(j) else None
        if a is not None and b is not None:
            terms.constraints.append((a - b, 0, 0))
        elif a is not None:
            rhs[j] = a
        elif b is not None:
            lhs[i] = b
    return terms
