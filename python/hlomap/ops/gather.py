"""gather: slices of the operand, each at an index vector, clamped so that the slice fits.

Output dimensions in ``offset_dims`` are places in a slice, the others number the vectors.  An operand dimension is
paired with one of the indices (batching), or begins at a component of the vector, or at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import Expr, Instruction
from ._index_vectors import clamped, held_starts, starts_at, vector_dims
from ._maps import full, reads
from ._op import Answer, Context, ExprLike, Leaf, Op, Run, Value, register
from ._shapes import agree, must


@dataclass(frozen=True)
class _Plan:
    """Which output dimension is the offset along an operand dimension, and which numbers the vectors."""

    sizes: tuple[int, ...]
    slices: tuple[int, ...]
    offset: dict[int, int]
    vector: dict[int, int]
    batching: dict[int, int]
    starts: dict[int, int]
    vector_dim: int


def _plan(instruction: Instruction) -> _Plan:
    attributes = instruction.attributes
    operand, indices = (tuple(x.shape.dimensions) for x in instruction.operands)
    slices, offset_dims, map_dims = (
        tuple(attributes[name]) for name in ("slice_sizes", "offset_dims", "start_index_map")
    )
    batching = dict(
        zip(attributes.get("operand_batching_dims", ()), attributes.get("start_indices_batching_dims", ()), strict=True)
    )
    gone = {*attributes["collapsed_slice_dims"], *batching}
    vector_dim = int(attributes["index_vector_dim"])
    must(len(slices) == len(operand) and all(0 <= w <= n for w, n in zip(slices, operand, strict=True)), "slices fit")
    must(all(slices[i] <= 1 for i in gone), "a dimension that is left out has one place")
    vectors = vector_dims(indices, vector_dim, len(map_dims))
    kept = [i for i in range(len(operand)) if i not in gone]
    rest = [i for i in range(instruction.shape.rank) if i not in offset_dims]
    offset, vector = dict(zip(kept, offset_dims, strict=True)), dict(zip(vectors, rest, strict=True))
    expected = {**{o: slices[p] for p, o in offset.items()}, **{o: indices[i] for i, o in vector.items()}}
    agree(instruction.shape.dimensions, (expected[i] for i in range(len(expected))), "an output")
    agree((operand[p] for p in batching), (indices[i] for i in batching.values()), "batching dimensions")
    starts = {p: k for k, p in enumerate(map_dims) if p not in batching}
    return _Plan(operand, slices, offset, vector, batching, starts, vector_dim)


def looked_at(instruction: Instruction) -> tuple[int, ...]:
    """The indices: what is a constant or an iota is folded, with the clamp."""
    return (1,)


def _starts(instruction: Instruction, plan: _Plan, vector: Sequence[ExprLike], runtime: list[Any]) -> list[ExprLike]:
    """Where the slice of a vector begins, component by component."""
    limits = sorted((k, plan.sizes[p] - plan.slices[p]) for p, k in plan.starts.items())
    components = [(0, limit) for _, limit in limits]
    return starts_at(instruction.operands[1], 1, plan.vector_dim, vector, components, runtime, clamped)


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """Offset + start; the whole index vector."""
    plan = _plan(instruction)
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
    plan = _plan(instruction)
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


def _slices_of_a_vector(instruction: Instruction, plan: _Plan) -> Any:
    results: list[ExprLike] = [0] * instruction.shape.rank
    for i, o in plan.vector.items():
        results[o] = Expr.dim(i)
    for n, o in enumerate(sorted(plan.offset.values())):
        results[o] = Expr.range(n)
    ranges = full(instruction.shape.dimensions[o] for o in sorted(plan.offset.values()))
    return reads(full(instruction.operands[1].shape.dimensions), results, ranges=ranges)


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """The index of every place along each dimension of the operand, then one look-up."""
    attributes = instruction.attributes
    data, sizes = np.asarray(operands[0]), instruction.shape.dimensions
    slices, gone = attributes["slice_sizes"], set(attributes["collapsed_slice_dims"])
    paired = tuple(attributes.get("operand_batching_dims", ()))
    offset_dims = sorted(attributes["offset_dims"])
    vector_dim = int(attributes["index_vector_dim"])
    starts = held_starts(np.asarray(operands[1]), vector_dim)
    # The places of all vectors, beside the places in a slice: both as wide as the output.
    starts = np.expand_dims(starts, tuple(offset_dims))
    place = dict(zip((p for p in range(data.ndim) if p not in gone and p not in paired), offset_dims, strict=True))
    look_up = []
    for p in range(data.ndim):
        at = np.zeros([1] * len(sizes), np.int64)
        if p in place:
            at = at + np.arange(slices[p]).reshape([-1 if i == place[p] else 1 for i in range(len(sizes))])
        if p in paired:
            own = attributes["start_indices_batching_dims"][paired.index(p)]
            nth = own - (own > vector_dim)
            out = [i for i in range(len(sizes)) if i not in offset_dims][nth]
            at = at + np.arange(data.shape[p]).reshape([-1 if i == out else 1 for i in range(len(sizes))])
        elif p in attributes["start_index_map"]:
            component = list(attributes["start_index_map"]).index(p)
            at = at + np.clip(starts[..., component], 0, data.shape[p] - slices[p])
        look_up.append(at)
    return np.broadcast_to(data[tuple(look_up)] if look_up else data, sizes)


register(Op("gather", output_to_input, input_to_output, evaluate, looked_at))
