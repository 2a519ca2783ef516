"""Semantics of scatter: updates in rounds, none of which has two updates of the same element."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Instruction
from .._evaluation import Array, EvalContext, Value
from .._numpy.dynamic_offsets import index_vectors
from .._numpy.reduction import as_list, pack_results


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Apply the computation to the first updates of all elements, then to the second updates, and so on."""
    n = len(operands) // 2
    attributes, sizes, updates = instruction.attributes, operands[0].shape, operands[n + 1].shape
    window_dims = sorted(attributes["update_window_dims"])
    vector_dim = int(attributes["index_vector_dim"])
    rest = [u for u in range(len(updates)) if u not in window_dims]
    starts = np.expand_dims(index_vectors(np.asarray(operands[n]), vector_dim), tuple(window_dims))
    paired = tuple(attributes.get("input_batching_dims", ()))
    kept = [p for p in range(len(sizes)) if p not in {*attributes["inserted_window_dims"], *paired}]
    target, fits = np.zeros(updates, np.int64), np.ones(updates, np.bool_)
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
        target = target * size + at
    vector = np.zeros(updates, np.int64)
    for u in rest:
        vector = vector * updates[u] + _along(updates[u], u, len(updates))
    values = [np.array(x).reshape(-1) for x in operands[:n]]
    new_values = [np.asarray(x).reshape(-1) for x in operands[n + 1 :]]
    for round_ in _rounds(target.reshape(-1), vector.reshape(-1), np.flatnonzero(fits)):
        at = target.reshape(-1)[round_]
        both = [*(x[at] for x in values), *(x[round_] for x in new_values)]
        for value, new in zip(values, as_list(context.apply(instruction.called_computations[0], both)), strict=True):
            value[at] = new
    return pack_results(instruction.shape.is_tuple, [x.reshape(sizes) for x in values])


def _along(size: int, axis: int, rank: int) -> Array:
    return np.arange(size).reshape([-1 if i == axis else 1 for i in range(rank)])


def _rounds(target: Array, vector: Array, updates: Array) -> list[Array]:
    """Splits updates into rounds with distinct targets; updates of one target are in the order of their vectors."""
    updates = updates[np.lexsort((vector[updates], target[updates]))]
    if not updates.size:
        return []
    new = np.flatnonzero(np.diff(target[updates], prepend=-1))
    nth = np.arange(updates.size) - np.repeat(new, np.diff(new, append=updates.size))
    by_round = np.argsort(nth, kind="stable")
    return np.split(updates[by_round], np.cumsum(np.bincount(nth))[:-1])
