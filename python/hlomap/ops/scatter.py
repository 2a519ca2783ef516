"""scatter: updates are combined, one after the other, into the operands in the windows at index vectors.

A window that does not lie in the operand as a whole is left out.  Operands are n arrays, the indices, n updates; each
of the n results depends on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import Expr, Instruction
from ._fold import as_list, like_shape
from ._index_vectors import as_held, held_starts, starts_at, vector_dims
from ._maps import full, on_outputs, reads, reads_same_place
from ._op import NOTHING, Answer, Array, Context, ExprLike, Footprint, Leaf, Op, Run, Value, register
from ._shapes import agree, must


@dataclass(frozen=True)
class _Plan:
    """Operand dimensions by what they are, and the update dimensions that window places and vectors have."""

    n: int
    sizes: tuple[int, ...]
    indices: tuple[int, ...]
    updates: tuple[int, ...]
    extents: tuple[int, ...]
    window: dict[int, int]
    vector: dict[int, int]
    paired: dict[int, int]
    starts: dict[int, int]
    vector_dim: int


def _plan(instruction: Instruction) -> _Plan:
    attributes, operands = instruction.attributes, instruction.operands
    n = len(operands) // 2
    must(len(operands) == 2 * n + 1, "n operands, indices and n updates")
    sizes, indices, updates = (tuple(operands[k].shape.dimensions) for k in (0, n, n + 1))
    paired = dict(
        zip(attributes.get("scatter_indices_batching_dims", ()), attributes.get("input_batching_dims", ()), strict=True)
    )
    gone = {*attributes["inserted_window_dims"], *paired.values()}
    window_dims, map_dims = attributes["update_window_dims"], attributes["scatter_dims_to_operand_dims"]
    vector_dim = int(attributes["index_vector_dim"])
    rest = [u for u in range(len(updates)) if u not in window_dims]
    vector = dict(zip(vector_dims(indices, vector_dim, len(map_dims)), rest, strict=True))
    window = dict(zip((p for p in range(len(sizes)) if p not in gone), window_dims, strict=True))
    extents = tuple(updates[window[p]] if p in window else 1 for p in range(len(sizes)))
    must(all(extents[p] <= sizes[p] for p in range(len(sizes)) if p not in paired.values()), "windows fit")
    agree((updates[u] for u in vector.values()), (indices[i] for i in vector), "an update")
    agree((indices[i] for i in paired), (sizes[p] for p in paired.values()), "batching dimensions")
    for k in range(n):
        agree(operands[k].shape.dimensions, sizes, "an operand")
        agree(operands[n + 1 + k].shape.dimensions, updates, "an update")
    starts = {p: k for k, p in enumerate(map_dims)}
    return _Plan(n, sizes, indices, updates, extents, window, vector, paired, starts, vector_dim)


def looked_at(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded."""
    return (len(instruction.operands) // 2,)


def _starts(
    instruction: Instruction, plan: _Plan, vector: Sequence[ExprLike], runtime: list[Any]
) -> dict[int, ExprLike]:
    """Where the window of a vector begins.  What is beyond the last place is as far as one beyond: nothing clamps."""
    reach = {k: (-1, plan.sizes[p] - plan.extents[p] + 1) for p, k in plan.starts.items()}
    bounds = [reach[k] for k in range(len(reach))]
    found = starts_at(instruction.operands[plan.n], plan.n, plan.vector_dim, vector, bounds, runtime, as_held)
    return {p: found[k] for p, k in plan.starts.items()}


def _hits(instruction: Instruction, plan: _Plan) -> Footprint:
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


def _hit(instruction: Instruction, plan: _Plan) -> Footprint:
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
    plan = _plan(instruction)
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
    plan = _plan(instruction)
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


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Every place is hit a first time, a second time and so on: one call of the computation for each such round."""
    n = len(operands) // 2
    attributes, sizes, updates = instruction.attributes, operands[0].shape, operands[n + 1].shape
    window_dims = sorted(attributes["update_window_dims"])
    vector_dim = int(attributes["index_vector_dim"])
    rest = [u for u in range(len(updates)) if u not in window_dims]
    starts = np.expand_dims(held_starts(np.asarray(operands[n]), vector_dim), tuple(window_dims))
    paired = tuple(attributes.get("input_batching_dims", ()))
    kept = [p for p in range(len(sizes)) if p not in {*attributes["inserted_window_dims"], *paired}]
    place, fits = np.zeros(updates, np.int64), np.ones(updates, np.bool_)
    for p, size in enumerate(sizes):
        at = np.zeros([1] * len(updates), np.int64)
        extent = 1
        if p in kept:
            along = window_dims[kept.index(p)]
            extent = updates[along]
            at = _along(extent, along, len(updates))
        if p in paired:
            own = attributes["scatter_indices_batching_dims"][paired.index(p)]
            at = _along(size, rest[own - (own > vector_dim)], len(updates))
        elif p in attributes["scatter_dims_to_operand_dims"]:
            begin = starts[..., list(attributes["scatter_dims_to_operand_dims"]).index(p)]
            fits = fits & (begin >= 0) & (begin <= size - extent)
            at = at + np.clip(begin, 0, size - extent)
        place = place * size + at
    vector = np.zeros(updates, np.int64)
    for u in rest:
        vector = vector * updates[u] + _along(updates[u], u, len(updates))
    values = [np.array(x).reshape(-1) for x in operands[:n]]
    given = [np.asarray(x).reshape(-1) for x in operands[n + 1 :]]
    for hit in _rounds(place.reshape(-1), vector.reshape(-1), np.flatnonzero(fits)):
        at = place.reshape(-1)[hit]
        both = [*(x[at] for x in values), *(x[hit] for x in given)]
        for value, new in zip(values, as_list(run.apply(instruction.called[0], both), n), strict=True):
            value[at] = new
    return like_shape(instruction.shape.is_tuple, [x.reshape(sizes) for x in values])


def _along(size: int, axis: int, rank: int) -> Array:
    return np.arange(size).reshape([-1 if i == axis else 1 for i in range(rank)])


def _rounds(place: Array, vector: Array, hits: Array) -> list[Array]:
    """The hits in rounds that meet no place twice, each place in the order of the vectors."""
    hits = hits[np.lexsort((vector[hits], place[hits]))]
    if not hits.size:
        return []
    new = np.flatnonzero(np.diff(place[hits], prepend=-1))
    nth = np.arange(hits.size) - np.repeat(new, np.diff(new, append=hits.size))
    by_round = np.argsort(nth, kind="stable")
    return np.split(hits[by_round], np.cumsum(np.bincount(nth))[:-1])


register(Op("scatter", output_to_input, input_to_output, evaluate, looked_at))
