"""Indexing rules of dot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core import Expr, Instruction, Variable
from ...answers import Unknown
from ...types import ShapeIndex
from .._indexing.contraction import extra_operand, whole_index
from .._indexing.maps import dim_exprs, full_bounds, range_exprs, simplify_maps, single_map
from .._rule import Bounds, ExprLike, OperandIndexing, RuleContext, RuleResult
from .attributes import DotOperand, dot_dimensions


class _Terms:
    """The products that are summed: the index of each operand, and when both elements belong to one product.

    An index along a contracted dimension that is None is that of the other operand; where the operand is sparse, or
    neither index is known, it is a range.
    """

    def __init__(
        self, sides: Sequence[DotOperand], indices: Sequence[list[ExprLike | None]], ranges: list[Bounds]
    ) -> None:
        self.ranges, self.runtime = ranges, list[Variable]()
        self.constraints: list[tuple[ExprLike, int, int]] = []
        left, right = sides
        pairs = list(zip(left.contracted, right.contracted, strict=True))
        for i, j in pairs:
            known = indices[1][j] is not None
            if indices[0][i] is None and (left.holds_some(i) or not (known or right.holds_some(j))):
                indices[0][i] = self._new_range(left.sizes[i])
            if not known and right.holds_some(j):
                indices[1][j] = self._new_range(right.sizes[j])
        at: list[ExprLike | None] = [None, None]
        for k, (side, index) in enumerate(zip(sides, indices, strict=True)):
            if side.sparse is not None:
                at[k] = whole_index(side.sparse, [e for e in index if e is not None], self.runtime)
        for i, j in pairs:
            a, b = at[0] if left.holds_some(i) else indices[0][i], at[1] if right.holds_some(j) else indices[1][j]
            if a is None or b is None:
                indices[0][i], indices[1][j] = (indices[0][i], a) if b is None else (b, indices[1][j])
            else:
                self.constraints.append((a - b, 0, 0))
        self.indices = [[e if e is not None else 0 for e in index] for index in indices]

    def _new_range(self, size: int) -> Expr:
        self.ranges.append((0, size - 1))
        return Expr.range(len(self.ranges) - 1)


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
    terms, sparse = _Terms(sides, (lhs, rhs), []), (left.sparse, right.sparse)
    parts: list[OperandIndexing] = []
    for k in range(n_operands):
        extra = extra_operand(instruction, sparse, k, to_output=False) if k > 1 else k
        if not isinstance(extra, int):
            parts.append(extra)
        elif not terms.runtime:
            parts.append(single_map(shape, terms.indices[extra], ranges=terms.ranges))
        else:
            # An index is read whether the other operand has an element there or not.
            runtime, constraints = (terms.runtime, terms.constraints) if k < 2 else ([], [])
            found = single_map(
                shape, terms.indices[extra], ranges=terms.ranges, runtime=runtime, constraints=constraints
            )
            parts.append(simplify_maps(found))
    return parts


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """A range for each free dimension of the other operand."""
    sides = dot_dimensions(instruction)
    if isinstance(sides, Unknown):
        return [sides]
    left, right = sides
    extra = operand
    if operand > 1:
        found = extra_operand(instruction, (left.sparse, right.sparse), operand, to_output=True)
        if not isinstance(found, int):
            return [found]
        extra = found
    side, other = (left, right) if extra == 0 else (right, left)
    dims, others = dim_exprs(len(side.sizes)), range_exprs(len(other.free))
    own = [dims[i] for i in side.free]
    results = [*(dims[i] for i in side.batch), *((*own, *others) if extra == 0 else (*others, *own))]
    bounds, ranges = side.sizes, full_bounds(other.sizes[i] for i in other.free)
    if operand > 1 or (left.sparse is None and right.sparse is None):
        return [single_map(bounds, results, ranges=ranges)]
    of_other: list[ExprLike | None] = [None] * len(other.sizes)
    for i, dim in enumerate(other.batch):
        of_other[dim] = dims[side.batch[i]]
    for i, dim in enumerate(other.free):
        of_other[dim] = others[i]
    terms = _Terms(sides, ([*dims], of_other) if extra == 0 else (of_other, [*dims]), ranges)
    reached = single_map(bounds, results, ranges=terms.ranges, runtime=terms.runtime, constraints=terms.constraints)
    return [simplify_maps(reached)]
