"""gather: slices of the operand, each at an index vector, clamped so that the slice fits.

Output dimensions in ``offset_dims`` are places in a slice, the others number the vectors.  An operand dimension is
paired with one of the indices (batching), or begins at a component of the vector, or at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Expr, Instruction
from ._index_vectors import clamped, starts_at
from ._maps import full, reads
from ._op import Answer, Context, ExprLike, Leaf, Op, register
from .meaning.gather import evaluate
from .plans.gather import Plan, plan_of


def looked_at(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded, with the clamp."""
    return (1,)


def _starts(instruction: Instruction, plan: Plan, vector: Sequence[ExprLike], runtime: list[Any]) -> list[ExprLike]:
    """Where the slice of a vector begins, component by component."""
    limits = sorted((k, plan.sizes[p] - plan.slices[p]) for p, k in plan.starts.items())
    components = [(0, limit) for _, limit in limits]
    return starts_at(instruction.operands[1], 1, plan.vector_dim, vector, components, runtime, clamped)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """Offset + start; the whole index vector."""
    plan = plan_of(instruction)
    vector: list[ExprLike] = [Expr.dim(o) for _, o in sorted(plan.vector.items())]
    runtime: list[Any] = []
    starts = _starts(instruction, plan, vector, runtime)
    results: list[ExprLike] = []
    for p in range(len(plan.sizes)):
        if p in plan.batching:
            results.append(Expr.dim(plan.vector[plan.batching[p]]))
            continue
        offset: ExprLike = Expr.dim(plan.offset[p]) if p in plan.offset else 0
        results.append(offset + starts[plan.starts[p]] if p in plan.starts else offset)
    dims = full(instruction.shape.dimensions)
    n_components = len(plan.starts)
    if plan.vector_dim == instruction.operands[1].shape.rank:
        return [reads(dims, results, runtime=runtime), reads(dims, vector)]
    index = [*vector[: plan.vector_dim], Expr.range(0), *vector[plan.vector_dim :]]
    return [reads(dims, results, runtime=runtime), reads(dims, index, ranges=[(0, n_components - 1)])]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """d - start where that is inside the slice, for every vector; an index moves its whole slice."""
    plan = plan_of(instruction)
    if operand == 1:
        return [_slices_of_a_vector(instruction, plan)]
    indices = instruction.operands[1].shape.dimensions
    paired = {i: p for p, i in plan.batching.items()}
    results: list[ExprLike] = [0] * instruction.shape.rank
    ranges: list[Any] = []
    vector: list[ExprLike] = []
    for i, o in sorted(plan.vector.items()):
        if i in paired:
            vector.append(Expr.dim(paired[i]))
        else:
            vector.append(Expr.range(len(ranges)))
            ranges.append((0, indices[i] - 1))
        results[o] = vector[-1]
    runtime: list[Any] = []
    starts = _starts(instruction, plan, vector, runtime)
    dims = full(plan.sizes)
    constraints: list[tuple[ExprLike, int, int]] = []
    for p, extent in enumerate(plan.slices):
        if p in plan.batching:
            continue
        start = starts[plan.starts[p]] if p in plan.starts else 0
        if isinstance(start, int):
            dims[p] = (start, start + extent - 1)
        else:
            constraints.append((Expr.dim(p) - start, 0, extent - 1))
        if p in plan.offset:
            results[plan.offset[p]] = Expr.dim(p) - start
    return [reads(dims, results, ranges=ranges, runtime=runtime, constraints=constraints)]


def _slices_of_a_vector(instruction: Instruction, plan: Plan) -> Any:
    results: list[ExprLike] = [0] * instruction.shape.rank
    for i, o in plan.vector.items():
        results[o] = Expr.dim(i)
    for n, o in enumerate(sorted(plan.offset.values())):
        results[o] = Expr.range(n)
    ranges = full(instruction.shape.dimensions[o] for o in sorted(plan.offset.values()))
    return reads(full(instruction.operands[1].shape.dimensions), results, ranges=ranges)


register(Op("gather", output_to_input, input_to_output, evaluate, looked_at))
