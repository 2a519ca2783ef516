"""The components of the index vectors of gather and scatter as expressions.

Component k of vector b is the element of the indices whose index is b, with k inserted at ``index_vector_dim``; if that
is the rank of the indices, every index is a vector of one component.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..._core import Expr, IndexingMap, Instruction
from ...errors import HlomapError
from ...lazy import np
from .._attributes import GatherDimensions
from .._known import UNKNOWN, Known, Parts, Piece, Pieces, is_constant, through, together
from .._rule import NOTHING, Bounds, ExprLike, Footprint, RuleContext
from .._tables import pieces_of
from .maps import dim_exprs, single_map


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
    sizes = [size for i, size in enumerate(indices.shape.dimensions) if i != index_vector_dim]
    of_component = [_component(indices, sizes, index_vector_dim, k, context) for k in range(len(components))]
    result: list[Vectors] = []
    regions = list(together(of_component))
    if len(regions) > _MAX_REGIONS:
        regions = list(together([UNKNOWN] * len(components)))
    for region, chosen in regions:
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
    """The pieces of an index array, if they are few and some value is known."""
    if isinstance(known, Parts) or len(known) > _MAX_REGIONS or not any(piece.is_known for piece in known):
        return UNKNOWN
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


def _component(
    indices: Instruction, sizes: Sequence[int], index_vector_dim: int, k: int, context: RuleContext
) -> Pieces:
    """The values of component k by the number of the vector; of a constant those of this component alone."""
    if indices.opcode == "constant":
        with suppress(HlomapError):  # it is not in the text, or does not fit into 64 bits
            values = np.asarray(indices.literal)
            own = np.take(values, k, axis=index_vector_dim) if index_vector_dim < values.ndim else values
            return pieces_for_maps(pieces_of(own))
    known = pieces_for_maps(context.known_integers(indices))
    if known is UNKNOWN:
        return UNKNOWN
    element: list[ExprLike] = [Expr.dim(i) for i in range(len(sizes))]
    if index_vector_dim < indices.shape.rank:
        element.insert(index_vector_dim, k)
    m = IndexingMap(sizes, element)
    return tuple(piece for each in known if (piece := through(m, each)) is not None) or UNKNOWN


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
