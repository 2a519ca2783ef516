"""scatter: updates are combined, one after the other, into the operands in the windows at index vectors.

A window that does not lie in the operand as a whole is left out.  Operands are n arrays, the indices, n updates; each
of the n results depends on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Expr, Instruction
from ._index_vectors import as_held, starts_at
from ._maps import full, on_outputs, reads, reads_same_place
from ._op import NOTHING, Answer, Context, ExprLike, Footprint, Leaf, Op, register
from .meaning.scatter import evaluate
from .plans.scatter import Plan, plan_of


def looked_at(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded."""
    return (len(instruction.operands) // 2,)


def _starts(
    instruction: Instruction, plan: Plan, vector: Sequence[ExprLike], runtime: list[Any]
) -> dict[int, ExprLike]:
    """Where the window of a vector begins.  What is beyond the last place is as far as one beyond: nothing clamps."""
    reach = {k: (-1, plan.sizes[p] - plan.extents[p] + 1) for p, k in plan.starts.items()}
    bounds = [reach[k] for k in range(len(reach))]
    found = starts_at(instruction.operands[plan.n], plan.n, plan.vector_dim, vector, bounds, runtime, as_held)
    return {p: found[k] for p, k in plan.starts.items()}


def _hits(instruction: Instruction, plan: Plan) -> Footprint:
    """From a place to the updates whose window covers it: a range for each vector."""
    if 0 in plan.updates:
        return NOTHING
    ranges: list[Any] = []
    vector: list[ExprLike] = []
    results: list[ExprLike] = [0] * len(plan.updates)
    for i, u in sorted(plan.vector.items()):
        vector.append(Expr.dim(plan.paired[i]) if i in plan.paired else Expr.range(len(ranges)))
        if i not in plan.paired:
            ranges.append((0, plan.indices[i] - 1))
        results[u] = vector[-1]
    runtime: list[Any] = []
    starts = _starts(instruction, plan, vector, runtime)
    dims = full(plan.sizes)
    constraints: list[tuple[ExprLike, int, int]] = []
    for p, extent in enumerate(plan.extents):
        if p in plan.paired.values():
            continue
        start, limit = starts.get(p, 0), plan.sizes[p] - extent
        if isinstance(start, int):
            if not 0 <= start <= limit:
                return NOTHING
            dims[p] = (start, start + extent - 1)
        else:
            constraints.append((Expr.dim(p) - start, 0, extent - 1))
            if extent > 1:
                constraints.append((start, 0, limit))
        if p in plan.window:
            results[plan.window[p]] = Expr.dim(p) - start
    return reads(dims, results, ranges=ranges, runtime=runtime, constraints=constraints)


def _hit(instruction: Instruction, plan: Plan) -> Footprint:
    """From an update to its place."""
    vector: list[ExprLike] = [Expr.dim(u) for _, u in sorted(plan.vector.items())]
    runtime: list[Any] = []
    starts = _starts(instruction, plan, vector, runtime)
    results: list[ExprLike] = []
    constraints: list[tuple[ExprLike, int, int]] = []
    by_operand = {p: plan.vector[i] for i, p in plan.paired.items()}
    for p, extent in enumerate(plan.extents):
        place: ExprLike = Expr.dim(plan.window[p]) if p in plan.window else 0
        start, limit = starts.get(p, 0), plan.sizes[p] - extent
        if isinstance(start, int) and not 0 <= start <= limit:
            return NOTHING
        if not isinstance(start, int):
            constraints.append((start, 0, limit))
        results.append(Expr.dim(by_operand[p]) if p in by_operand else place + start)
    return reads(full(plan.updates), results, runtime=runtime, constraints=constraints)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """The operands at the same place, the updates that hit it; any index of its batch might."""
    plan = plan_of(instruction)
    results: list[ExprLike] = []
    ranges: list[Any] = []
    for i, size in enumerate(plan.indices):
        results.append(Expr.dim(plan.paired[i]) if i in plan.paired else Expr.range(len(ranges)))
        if i not in plan.paired:
            ranges.append((0, size - 1))
    might = reads(full(plan.sizes), results, ranges=ranges)
    return [*[reads_same_place(plan.sizes)] * plan.n, might, *[_hits(instruction, plan)] * plan.n]


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """An operand at its place, an update where it hits; an index may reach all of its batch."""
    plan = plan_of(instruction)
    if operand < plan.n:
        return on_outputs(instruction, reads_same_place(plan.sizes))
    if operand > plan.n:
        return on_outputs(instruction, _hit(instruction, plan))
    results: list[ExprLike] = []
    ranges: list[Any] = []
    by_operand = {p: i for i, p in plan.paired.items()}
    for p, size in enumerate(plan.sizes):
        results.append(Expr.dim(by_operand[p]) if p in by_operand else Expr.range(len(ranges)))
        if p not in by_operand:
            ranges.append((0, size - 1))
    return on_outputs(instruction, reads(full(plan.indices), results, ranges=ranges))


register(Op("scatter", output_to_input, input_to_output, evaluate, looked_at))
