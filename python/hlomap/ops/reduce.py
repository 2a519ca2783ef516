"""reduce: output[d] combines operand[d, r] over all r along the reduced dimensions, starting from the init value.

The operands are n arrays, then n init values; each of the n results depends on those from which the computation
computes it.  Section Reduce of XLA's operation semantics.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import cast

from .._core import Expr, IndexingMap, Instruction
from ..base.lazy import np
from ._folding import UNCERTAIN, Folded, on_integers
from ._indexing.applied import combined
from ._indexing.maps import described, described_parts, inverted
from ._known import (
    ANYTHING,
    NUMBER,
    UNKNOWN,
    Known,
    KnownContext,
    Parts,
    Piece,
    Some,
    ValueSet,
    at_points,
    converted,
    is_mask,
    is_plain,
    restricted,
    uniform,
    used_where,
)
from ._numpy.reduction import in_any_order, monoid, pack_results, partial_results, reduce_axes
from ._op import EvalContext, RuleContext, RuleResult, Semantics, ShapeIndex, Value, Values, register
from ._rule import Footprint, OperandIndexing

_PLAIN = "[a] <- [k={dimensions}, a]..., []... if combining"


def _reduced(instruction: Instruction) -> tuple[int, ...]:
    return tuple(sorted(instruction.attributes["dimensions"]))


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """The elements and init values that the computation uses."""
    parts = described_parts(_PLAIN, instruction, shape_index)
    first, n = instruction.operands[0].shape, len(parts) // 2
    reduced, computation = _reduced(instruction), instruction.called_computations[0]
    may_be_empty = any(first.dynamic[i] for i in reduced)
    steps = None if may_be_empty else math.prod(first.dimensions[i] for i in reduced)
    result = shape_index[0] if shape_index else 0
    found = combined(computation, n, result, context, steps=steps, may_have_none=may_be_empty)
    return [*(found.of(n + k, parts[k]) for k in range(n)), *(found.of(k, parts[n + k]) for k in range(n))]


def evaluate(instruction: Instruction, operands: Sequence[Value], context: EvalContext) -> Value:
    """Reduce along the dimensions."""
    n = len(operands) // 2
    done = reduce_axes(operands[:n], operands[n:], _reduced(instruction), instruction.called_computations[0], context)
    return pack_results(instruction.shape.is_tuple, done)


def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """The values that any number of elements of each piece combine to; a piece may have none of a row."""
    if all(map(is_plain, operands)):
        return UNKNOWN
    arrays = [pieces for pieces in operands if not isinstance(pieces, Parts)]
    if len(arrays) != 2 or len(operands) != 2:
        return converted(instruction, operands)
    data, init = arrays
    combine = partial(context.apply, instruction.called_computations[0])
    values = uniform(init)[0].possible
    alike: dict[ValueSet, list[Piece]] = {}
    for piece in data:
        alike.setdefault(piece.possible, []).append(piece)
    for possible, pieces in alike.items():
        combined = combine([values, _repeated(possible, combine)])
        values = combined if _are_in_each_row(pieces, instruction) else values | combined
    return (Piece(values),)


def _repeated(values: ValueSet, combine: Callable[[Sequence[ValueSet]], ValueSet]) -> ValueSet:
    """The values that one or more elements with these values combine to."""
    more = combine([values, values])
    if more <= values:
        return values
    closed = values | NUMBER | _infinite(more)
    return closed if _infinite(combine([closed, closed])) <= closed else ANYTHING


def _infinite(values: ValueSet) -> ValueSet:
    return frozenset(value for value in values if not isinstance(value, Some) and not math.isfinite(value))


def _are_in_each_row(pieces: Sequence[Piece], instruction: Instruction) -> bool:
    """Whether the elements that are combined to each element of the output include some of these pieces."""
    sizes = instruction.operands[0].shape.dimensions
    regions = [piece.region for piece in pieces if piece.region is not None]
    if len(regions) < len(pieces) or 0 in sizes:
        return 0 not in sizes
    kept = tuple(i for i in range(len(sizes)) if i not in _reduced(instruction))
    return _n_rows(tuple(regions), kept) == math.prod(sizes[i] for i in kept)


@lru_cache(maxsize=256)
def _n_rows(regions: tuple[IndexingMap, ...], kept: tuple[int, ...]) -> int:
    """How many indices along these dimensions some regions have together, at least."""
    from ..maps.map_set import MapSet  # seven modules, for masks alone

    results = [Expr.dim(i) for i in kept]
    rows = MapSet(IndexingMap(region.dims, results, constraints=region.constraints) for region in regions)
    joined = rows if len(regions) == 1 else rows.image().simplify()
    return max((m.count(distinct=True).lower for m in joined), default=0)


def used(
    instruction: Instruction, operands: Sequence[Known], plain: Mapping[int, OperandIndexing], context: KnownContext
) -> Mapping[int, OperandIndexing]:
    """The maps to the data without elements that the computation does not use, given the other operands, and without
    masks, if an operation ignores them relative to any number."""
    if len(operands) > 2:
        return _used_of_several(instruction, operands, plain, context)
    part, data = plain.get(0), operands[0]
    if not context.masks or len(operands) != 2 or isinstance(data, Parts) or not isinstance(part, Footprint):
        return plain
    ignored = [piece for piece in data if all(map(is_mask, piece.possible))]
    others = [piece for piece in data if piece.possible == NUMBER]
    combine = partial(context.apply, instruction.called_computations[0])
    zero = frozenset([0.0])
    if not ignored or not others or not _are_in_each_row(others, instruction):
        return plain
    if any(combine([zero, piece.possible]) != zero for piece in ignored):
        return plain
    found = at_points(part, tuple(piece for piece in data if piece not in ignored))
    return plain if found is None else {**plain, 0: restricted(part, [piece.region for piece in found])}


def _used_of_several(
    instruction: Instruction, operands: Sequence[Known], plain: Mapping[int, OperandIndexing], context: KnownContext
) -> Mapping[int, OperandIndexing]:
    """The maps to the data at the points at which some result may need it, for any accumulated value."""
    n, computation = len(operands) // 2, instruction.called_computations[0]
    data = {k: plain[k] for k in range(n) if k in plain}
    found = [at_points(next(iter(data.values()), None), pieces) for pieces in operands[:n]]
    arrays = [pieces for pieces in found if pieces is not None]
    results = [(k,) for k in range(n)]

    def matters(k: int, values: Sequence[ValueSet]) -> bool:
        arguments = [ANYTHING] * n + list(values)
        return any(n + k in context.parameters_read(computation, result, arguments) for result in results)

    return {**plain, **used_where(data, arrays, matters)} if data and len(arrays) == n else plain


_on_integers = on_integers(evaluate, in_any_order)


def _folds(instruction: Instruction, operands: Sequence[Folded], context: EvalContext) -> Folded | None:
    """A sum of floats is certain in any order if all are multiples of a number that leaves sums of 24 bits."""
    if len(operands) != 2 or operands[0].value.dtype.name not in ("float32", "float64"):
        return cast("Folded | None", _on_integers(instruction, operands, context))
    if monoid(instruction.called_computations[0]) != "add":
        return None
    data, init = operands
    axes = _reduced(instruction)
    found = evaluate(instruction, [data.value, init.value], context)
    wide = data.value.astype(np.float64)
    size = np.abs(wide).sum(axes, keepdims=True) + np.abs(init.value.astype(np.float64))
    with np.errstate(all="ignore"):
        unit = np.exp2(np.floor(np.log2(np.where(size > 0, size, 1.0))) - 22)
        is_exact = (np.rint(wide / unit) * unit == wide).all(axes, keepdims=True)
    is_exact = is_exact & (np.rint(init.value / unit) * unit == init.value)
    n = wide.size // max(1, size.size) + 1
    given = data.error.sum(axes) + init.error
    rounding = np.where(is_exact & (size < 2.0**60), 0.0, n * 2.0**-22 * size).reshape(given.shape)
    error = np.where(given == 0, rounding, given + n * 2.0**-22 * size.reshape(given.shape))
    return Folded.of(found, np.where(np.isfinite(found) & np.isfinite(error), error, UNCERTAIN))


register(
    "reduce",
    described(_PLAIN, output_to_input, inverted(output_to_input)),
    Semantics(evaluate, operations="reduced", partial_results=partial_results),
    values=Values(known=known_values, used=used, folds=_folds),
)
