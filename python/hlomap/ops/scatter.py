"""scatter: output[start + offset] combines operand[start + offset] with every update whose window covers that element.

Updates are combined one after the other.  A window that does not lie in the operand as a whole is skipped.  The
operands are n arrays, the indices, and n updates; each of the n results depends on the indices and on those arrays from
which the computation computes it.  If it ignores the old element, elements that are certainly replaced are not read:
``x.at[1:5].set(u)`` is a dynamic-update-slice.  Section Scatter of XLA's operation semantics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from .._core import Instruction
from ..base.lazy import np
from ._attributes import GatherDimensions, scatter_dimensions
from ._folding import Folded, on_integers
from ._indexing.applied import combined
from ._indexing.index_vectors import KnownIntegers, outside_windows, window_to_operand
from ._indexing.maps import identity_map, inverted, map_keeping
from ._known import ANYTHING, Known, KnownContext, leaves
from ._numpy.reduction import as_list, in_any_order, pack_results, partial_updates
from ._numpy.window import index_vectors, window_indices
from ._op import (
    Array,
    EvalContext,
    Maps,
    Memory,
    RuleContext,
    RuleResult,
    Semantics,
    ShapeIndex,
    Value,
    Values,
    register,
)
from ._operations import scattered
from ._rule import Footprint, InPlace, OperandIndexing


def updated_operands(instruction: Instruction) -> dict[ShapeIndex, InPlace]:
    """The operand that each output updates."""
    n = len(instruction.operands) // 2 if instruction.shape.is_tuple else 0
    return {(k,): InPlace(k, reads=True) for k in range(n)} or {(): InPlace(0, reads=True)}


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """operand[d], the updates whose windows cover d, and all indices of the same batch."""
    n, d = scatter_dimensions(instruction)
    result = shape_index[0] if shape_index else 0
    found = combined(instruction.called_computations[0], n, result, context)
    all_indices = map_keeping(d.operand_sizes, d.indices_sizes, d.paired_dims)
    places = window_to_operand(instruction, d, context, in_operand=True)
    updates = places.inverse(d.operand_sizes)
    old = [found.of(k, identity_map(d.operand_sizes)) for k in range(n)]
    if result not in found.sometimes:
        old[result] = _kept(instruction, d, context)
    # Of several updates of one element any may be the last.
    is_single = not found.always and _have_one_each(instruction, places)
    return [*old, all_indices, *(found.of(n + k, updates, in_one_step=is_single) for k in range(n))]


def _kept(instruction: Instruction, d: GatherDimensions, context: KnownIntegers) -> Footprint:
    """The old elements that no update certainly replaces; fewer updates may be in use than the shape has."""
    have_bounds = any(any(operand.shape.dynamic) for operand in instruction.operands)
    return identity_map(d.operand_sizes) if have_bounds else outside_windows(instruction, d, context)


def _have_one_each(instruction: Instruction, places: Footprint) -> bool:
    """Whether each element certainly has one update at most."""
    from ..maps.map_set import MapSet  # seven modules, for computations that ignore the old element alone

    return bool(instruction.attributes.get("unique_indices")) or bool(
        MapSet(m for _, m in places.maps).is_injective().value
    )


class _Indices(NamedTuple):
    """The known values of the indices, from the whole program."""

    known: Known

    def known_integers(self, instruction: Instruction) -> Known:
        return self.known


def used(
    instruction: Instruction, operands: Sequence[Known], plain: Mapping[int, OperandIndexing], context: KnownContext
) -> Mapping[int, OperandIndexing]:
    """The maps to the old elements without elements that are replaced regardless of their values."""
    n, d = scatter_dimensions(instruction)
    computation = instruction.called_computations[0]
    if n > 1 or not isinstance(plain.get(0), Footprint):
        return plain
    new = frozenset(value for piece in leaves(operands[2]) for value in piece.possible)
    result = (0,) if computation.root.shape.is_tuple else ()
    if 0 in context.parameters_read(computation, result, [ANYTHING, new]):
        return plain
    return {**plain, 0: _kept(instruction, d, _Indices(operands[1]))}


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Apply the computation to the first updates of all elements, then to the second updates, and so on."""
    n, _ = scatter_dimensions(instruction)
    target, rounds = _targets(instruction, operands)
    values = [np.array(x).reshape(-1) for x in operands[:n]]
    new_values = [np.asarray(x).reshape(-1) for x in operands[n + 1 :]]
    for round_ in rounds:
        at = target[round_]
        both = [*(x[at] for x in values), *(x[round_] for x in new_values)]
        for value, new in zip(values, as_list(context.apply(instruction.called_computations[0], both)), strict=True):
            value[at] = new
    return pack_results(instruction.shape.is_tuple, [x.reshape(operands[0].shape) for x in values])


def _folds(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
    """Of several updates of one element, XLA does not say which comes last."""
    is_known = all(x.is_known for x in operands)
    if is_known and not in_any_order(instruction):
        is_known = len(_targets(instruction, [x.value for x in operands])[1]) <= 1
    return _on_integers(instruction, operands, context) if is_known else None


def _targets(instruction: Instruction, operands: Sequence[Value]) -> tuple[Array, list[Array]]:
    """The place in the operand of each element of the updates, and the updates of each round, by number."""
    n, d = scatter_dimensions(instruction)
    sizes, updates = operands[0].shape, operands[n + 1].shape
    last = [size - (updates[d.window_dims[p]] if p in d.window_dims else 1) for p, size in enumerate(sizes)]
    index, fits = window_indices(d, index_vectors(np.asarray(operands[n]), d.index_vector_dim), updates, last)
    target = np.zeros(updates, np.int64)
    for at, size in zip(index, sizes, strict=True):
        target = target * size + at
    vectors = [size if u in d.batch_dims.values() else 1 for u, size in enumerate(updates)]
    number = np.broadcast_to(np.arange(prod(vectors)).reshape(vectors), updates)
    in_bounds = np.flatnonzero(np.broadcast_to(fits, updates))
    return target.reshape(-1), _rounds(target.reshape(-1), number.reshape(-1), in_bounds)


_on_integers = on_integers(evaluate)


def _rounds(target: Array, vector: Array, updates: Array) -> list[Array]:
    """Splits updates into rounds with distinct targets; updates of one target are in the order of their vectors."""
    updates = updates[np.lexsort((vector[updates], target[updates]))]
    if not updates.size:
        return []
    new = np.flatnonzero(np.diff(target[updates], prepend=-1))
    nth = np.arange(updates.size) - np.repeat(new, np.diff(new, append=updates.size))
    by_round = np.argsort(nth, kind="stable")
    return np.split(updates[by_round], np.cumsum(np.bincount(nth))[:-1])


register(
    "scatter",
    Maps(output_to_input, inverted(output_to_input)),
    Semantics(evaluate, operations=scattered, partial_results=partial_updates),
    values=Values(used=used, folds=_folds),
    memory=Memory(
        in_place=updated_operands, updated_operand=lambda i: len(i.operands) // 2 + 1 if len(i.operands) == 3 else None
    ),
)
