"""The components of the index vectors of gather and scatter as expressions.

Component k of vector b is the element of the indices whose index is b, with k inserted at ``index_vector_dim``; if that
is the rank of the indices, every index is a vector of one component.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from ..._core import Expr, IndexingMap, Instruction
from ...errors import HlomapError
from ...lazy import np
from .._attributes import GatherDimensions
from .._evaluation import Array
from .._known import Known, Parts, Piece, Pieces, is_constant, through, together
from .._rule import NOTHING, Bounds, ExprLike, Footprint, RuleContext
from .maps import dim_exprs, single_map

_MAX_LITERAL = 1 << 20
"""Elements of a constant that are searched for an affine pattern."""
_TYPE_MAX = {"s8": 127, "u8": 255, "s16": 2**15 - 1, "u16": 2**16 - 1, "s32": 2**31 - 1, "u32": 2**32 - 1}


class Vectors(NamedTuple):
    """The components of index vectors, as expressions of the number of the vector, for those in a region."""

    components: list[ExprLike]
    runtime: list[Any]
    constraints: list[tuple[ExprLike, int, int]]


def index_vectors(
    indices: Instruction,
    operand: int,
    index_vector_dim: int,
    vector: Sequence[Expr],
    components: Sequence[Bounds],
    adjust: Callable[[ExprLike, Bounds, Bounds], ExprLike],
    context: RuleContext,
) -> list[Vectors]:
    """The components of the index vector numbered by the expressions ``vector``, in regions without common vectors.

    Where the values of the indices are known, ``adjust`` gets the value with its own bounds and the bounds of the
    component.  Otherwise the component is a new runtime variable within its bounds, read from operand ``operand``.
    """
    of_vector: list[list[ExprLike]] = []
    for k in range(len(components)):
        of_vector.append([*vector])
        if index_vector_dim < indices.shape.rank:
            of_vector[k].insert(index_vector_dim, k)
    direct = [_known(indices, index, index_vector_dim, k) for k, index in enumerate(of_vector)]
    pieces = pieces_for_maps(context.known_integers(indices)) if None in direct else ()
    if not pieces:
        runtime: list[Any] = []
        found: list[ExprLike] = []
        for known, bounds, index in zip(direct, components, of_vector, strict=True):
            found.append(Expr.runtime(len(runtime)) if known is None else adjust(*known, bounds))
            if known is None:
                runtime.append((*bounds, operand, index))
        return [Vectors(found, runtime, [])]
    sizes = [size for i, size in enumerate(indices.shape.dimensions) if i != index_vector_dim]
    of_component: list[Pieces] = []
    for k in range(len(components)):
        element: list[ExprLike] = [Expr.dim(i) for i in range(len(sizes))]
        if index_vector_dim < indices.shape.rank:
            element.insert(index_vector_dim, k)
        m = IndexingMap(sizes, element)
        of_component.append(tuple(piece for each in pieces if (piece := through(m, each)) is not None))
    result: list[Vectors] = []
    for region, chosen in together(of_component):
        part = Vectors([], [], [*within(region, sizes, vector)])
        for k, (piece, bounds) in enumerate(zip(chosen, components, strict=True)):
            value = known_value(piece)
            if value is None:
                part.components.append(Expr.runtime(len(part.runtime)))
                part.runtime.append((*bounds, operand, of_vector[k]))
            elif isinstance(value, int):
                part.components.append(adjust(value, (value, value), bounds))
            else:
                own = (region or IndexingMap(sizes, [])).bounds(value)
                part.components.append(adjust(value.substitute(dims=vector), own, bounds))
        result.append(part)
    return result


_MAX_REGIONS = 8
"""Regions of index vectors that become maps; more say less to a reader than a runtime variable."""


def pieces_for_maps(known: Known) -> Pieces:
    """The pieces of an index array, if they are few; none where no value is known."""
    if isinstance(known, Parts) or len(known) > _MAX_REGIONS or not any(piece.is_known for piece in known):
        return ()
    return known


def known_surroundings(
    operands: Callable[[Instruction], Sequence[int]],
) -> Callable[[Instruction, RuleContext], Hashable]:
    """The hook ``surroundings`` of an operation whose rules use the known values of these operands."""

    def surroundings(instruction: Instruction, context: RuleContext) -> Hashable:
        own = instruction.operands
        known = (pieces_for_maps(context.known_integers(own[k])) for k in operands(instruction))
        return tuple(tuple((str(piece.values), str(piece.region)) for piece in pieces) for pieces in known)

    return surroundings


def known_value(piece: Piece) -> Expr | int | None:
    """The value of an index; beyond 62 bits it is out of bounds anyway."""
    if isinstance(piece.values, Expr):
        return piece.values
    if not is_constant(piece.values):
        return None
    (value,) = piece.values
    return max(min(int(value), 2**62), -(2**62)) if isinstance(value, int) else None


def within(region: IndexingMap | None, sizes: Sequence[int], vector: Sequence[Expr]) -> list[tuple[Expr, int, int]]:
    """That an index is in a region of an array of these sizes, as constraints."""
    if region is None:
        return []
    found: list[tuple[Expr, int, int]] = [
        (e, v.lower, v.upper)
        for e, v, size in zip(vector, region.dims, sizes, strict=True)
        if (v.lower, v.upper) != (0, size - 1)
    ]
    return found + [(c.expr.substitute(dims=vector), c.lower, c.upper) for c in region.constraints]


def clamp(value: ExprLike, value_bounds: Bounds, bounds: Bounds) -> ExprLike:
    """The value clamped to ``bounds`` on the sides where it can leave them."""
    lower, upper = bounds
    if value_bounds[0] < lower:
        value = max(value, lower) if isinstance(value, int) else Expr.maximum(value, lower)
    if value_bounds[1] > upper:
        value = min(value, upper) if isinstance(value, int) else Expr.minimum(value, upper)
    return value


def keep(value: ExprLike, value_bounds: Bounds, bounds: Bounds) -> ExprLike:
    """The value itself, whatever its bounds."""
    return value


def _known(
    indices: Instruction, index: Sequence[ExprLike], index_vector_dim: int, k: int
) -> tuple[ExprLike, Bounds] | None:
    """Component k as an expression with its bounds, where the indices are an iota or an affine constant; else None."""
    sizes = indices.shape.dimensions
    if indices.opcode == "iota":
        along = int(indices.attributes["iota_dimension"])
        if sizes[along] - 1 > _TYPE_MAX.get(indices.shape.dtype, 2**63 - 1 if indices.shape.dtype[1:] == "64" else -1):
            return None
        value = index[along]
        return value, (value, value) if isinstance(value, int) else (0, sizes[along] - 1)
    if indices.opcode != "constant" or indices.shape.n_elements > _MAX_LITERAL:
        return None
    try:
        literal = indices.literal
    except HlomapError:
        return None
    if literal is None or literal.size == 0:
        return None
    # As the semantics have it, u64 values beyond the range of s64 are its maximum: out of bounds on the upper side.
    saturated = np.minimum(literal, np.uint64(2**63 - 1)) if literal.dtype == np.uint64 else literal
    values: Array = np.asarray(saturated).astype(np.int64)
    if index_vector_dim < values.ndim:
        values = np.take(values, k, axis=index_vector_dim)
        index = [*index[:index_vector_dim], *index[index_vector_dim + 1 :]]
    factors = _affine(values)
    if factors is None:
        return None
    total: ExprLike = int(values.reshape(-1)[0])
    for factor, variable in zip(factors, index, strict=True):
        if factor:
            total = factor * variable + total
    return total, (int(values.min()), int(values.max()))


def _affine(values: Array) -> list[int] | None:
    """The step along each dimension, where the elements are an affine function of their index; else None."""
    first = int(values.reshape(-1)[0])
    if max(abs(int(values.min())), abs(int(values.max()))) >= 2**31:
        return [0] * values.ndim if (values == first).all() else None
    expected = np.full(values.shape, first)
    steps = []
    for axis, size in enumerate(values.shape):
        step = int(values[tuple(int(i == axis) for i in range(values.ndim))]) - first if size > 1 else 0
        steps.append(step)
        expected = expected + step * np.arange(size).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    return steps if (expected == values).all() else None


# Maps between an array and its windows at index vectors, as gather reads and scatter updates them.
#
# An element of a window lies in the operand at its offset in the window plus the start of the window
# (:class:`~hlomap.ops._attributes.GatherDimensions`).


Constraints = list[tuple[ExprLike, int, int]]


def _starts(
    instruction: Instruction, d: GatherDimensions, vector: Sequence[Expr], context: RuleContext
) -> Iterator[tuple[dict[int, ExprLike], list[Any], Constraints]]:
    """By operand dimension the start of a vector's window, with the runtime variables and what holds of the vector.

    Without clamping, a runtime start has one value more on either side, which represents all starts out of bounds.
    """
    outside = 0 if d.clamps else 1
    bounds_of = {k: (-outside, d.last_start(p) + outside) for p, k in d.start_components.items()}
    bounds = [bounds_of[k] for k in range(len(bounds_of))]
    indices = instruction.operands[d.indices_operand]
    adjust = clamp if d.clamps else keep
    for part in index_vectors(indices, d.indices_operand, d.index_vector_dim, vector, bounds, adjust, context):
        yield {p: part.components[k] for p, k in d.start_components.items()}, part.runtime, part.constraints


def window_to_operand(
    instruction: Instruction, d: GatherDimensions, context: RuleContext, *, in_operand: bool = False
) -> Footprint:
    """From an element of the windows to the operand element it is read from or combined into.

    With ``in_operand`` the maps are only asked about elements of the operand, in which windows of size 1 then fit.
    """
    dims = dim_exprs(len(d.output_sizes))
    paired = {p: d.batch_dims[i] for i, p in d.paired_dims.items()}
    found = NOTHING
    for starts, runtime, constraints in _starts(
        instruction, d, [dims[o] for _, o in sorted(d.batch_dims.items())], context
    ):
        results: list[ExprLike] = []
        if any(isinstance(start, int) and not 0 <= start <= d.last_start(p) for p, start in starts.items()):
            continue
        for p in range(len(d.operand_sizes)):
            offset: ExprLike = dims[d.window_dims[p]] if p in d.window_dims else 0
            start = starts.get(p, 0)
            if not isinstance(start, int) and not d.clamps and not (in_operand and d.window_sizes[p] == 1):
                constraints.append((start, 0, d.last_start(p)))
            results.append(dims[paired[p]] if p in paired else offset + start)
        found += single_map(d.output_sizes, results, runtime=runtime, constraints=constraints)
    return found
