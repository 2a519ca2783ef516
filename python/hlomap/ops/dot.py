"""dot: output[b, i, j] = sum over k of lhs[b, i, k] * rhs[b, k, j], with any number of dimensions for each letter.

The output dimensions are the batch dimensions, then the free dimensions of the left side, then those of the right.
Sections Dot and DotGeneral of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._core import Expr, Instruction, Variable
from ..base.answers import Unknown
from ..base.dtypes import numpy_dtype
from ..errors import UnsupportedError
from ._attributes import ProductSide, matrix_product, product_labels, product_sides, sparse_sides
from ._folding import on_integers
from ._indexing.contraction import extra_operand, whole_index
from ._indexing.maps import described, dim_exprs, inverted, single_map
from ._numpy.contraction import dense_operands, sum_of_products
from ._numpy.reduction import partial_sums
from ._op import EvalContext, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._products import known_values, used
from ._rule import Bounds, ExprLike, OperandIndexing


def dot_dimensions(instruction: Instruction) -> tuple[ProductSide, ProductSide] | Unknown:
    """Both operands; Unknown for a sparsity that XLA does not define."""
    dense, sparse = product_sides(instruction), sparse_sides(instruction)
    if isinstance(sparse, Unknown):
        return sparse
    if sparse == (None, None):
        return dense
    left, right = sides = [side._replace(sparse=held) for side, held in zip(dense, sparse, strict=True)]
    if any(side.sparse is not None and side.sparse.dimension not in side.contracted for side in sides):
        return Unknown("dot of an operand that is sparse along a dimension that is not contracted")
    places = [side.contracted.index(side.sparse.dimension) for side in sides if side.sparse is not None]
    if len(set(places)) > 1:
        return Unknown("dot of operands that are sparse along different dimensions")
    return left, right


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """A range for each contracted dimension of which a sparse operand holds some elements."""
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
    terms = _sum_over_sparse(sides, lhs, rhs)
    parts: list[OperandIndexing] = []
    for k in range(n_operands):
        extra = extra_operand(instruction, (left.sparse, right.sparse), k) if k > 1 else k
        if isinstance(extra, int):
            # An index is read whether the other operand has an element there or not.
            runtime, constraints = (terms.runtime, terms.constraints) if k < 2 else ([], [])
            index = (lhs, rhs)[extra]
            extra = single_map(shape, index, ranges=terms.ranges, runtime=runtime, constraints=constraints).simplified()
        parts.append(extra)
    return parts


class _Terms(NamedTuple):
    """The products that are summed: ranges, the elements that are read, and when two elements belong to one product."""

    ranges: list[Bounds]
    runtime: list[Variable]
    constraints: list[tuple[ExprLike, int, int]]


def _sum_over_sparse(sides: tuple[ProductSide, ProductSide], lhs: list[Any], rhs: list[Any]) -> _Terms:
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


def _cut(operands: Sequence[Value], a_axes: Sequence[int], b_axes: Sequence[int]) -> Sequence[Value]:
    """The operands without the elements that the other one does not have in use, along paired axes."""
    in_use: dict[int, int] = {}
    for x, axes in zip(operands, (a_axes, b_axes), strict=False):
        for size, axis in zip(x.shape, axes, strict=True):
            in_use[axis] = min(size, in_use.get(axis, size))
    return [x[tuple(slice(in_use[axis]) for axis in axes)] for x, axes in zip(operands, (a_axes, b_axes), strict=False)]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """One einsum in which paired batch and contracted dimensions share an axis."""
    dimensions = dot_dimensions(instruction)
    if isinstance(dimensions, Unknown):
        raise UnsupportedError(f"dot cannot be executed: {dimensions.reason}")
    a_axes, b_axes, out = product_labels(*dimensions)
    left, right = _cut(dense_operands(instruction, operands), a_axes, b_axes)
    return sum_of_products(left, a_axes, right, b_axes, out, numpy_dtype(instruction.shape.dtype))


register(
    "dot",
    described(
        "[a, b, c] <- [a=lhs_batch_dims, k=lhs_contracting_dims, b], [a=rhs_batch_dims, k=rhs_contracting_dims, c] "
        "if no sparsity_config",
        output_to_input,
        inverted(output_to_input),
    ),
    Semantics(
        evaluate,
        operations="multiply-adds",
        builder_methods=("dot", "dot_general"),
        matrix_product=matrix_product,
        partial_results=partial_sums,
    ),
    values=Values(known=known_values, used=used, folds=on_integers(evaluate)),
)
