"""The components of the index vectors of gather and scatter as expressions.

Component k of vector b is the element of the indices whose index is b, with k inserted at ``index_vector_dim``; if that
is the rank of the indices, every index is a vector of one component.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import prod
from typing import Any, Protocol

from ..._core import Expr, IndexingMap, Instruction
from ...base.lazy import np
from ...errors import HlomapError
from .._attributes import GatherDimensions
from .._known import UNKNOWN, Known, Parts, Piece, Pieces, is_constant, through, together
from .._rule import NOTHING, Bounds, ExprLike, Footprint
from .._tables import pieces_of
from .maps import dim_exprs, identity_map, outside, single_map

_MAX_REGIONS = 8
"""Regions of index vectors that become maps; more say less to a reader than a runtime variable."""


class KnownIntegers(Protocol):
    """The questions that rules with index vectors ask their context."""

    def known_integers(self, instruction: Instruction) -> Known:
        """Known values of an integer array."""


def pieces_for_maps(known: Known) -> Pieces:
    """The pieces of an index array, if they are few and some value is known."""
    if isinstance(known, Parts) or len(known) > _MAX_REGIONS or not any(piece.is_known for piece in known):
        return UNKNOWN
    return known


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
    """The value clamped to ``bounds`` on the sides at which it can leave them."""
    lower, upper = bounds
    if value_bounds[0] < lower:
        value = max(value, lower) if isinstance(value, int) else Expr.maximum(value, lower)
    if value_bounds[1] > upper:
        value = min(value, upper) if isinstance(value, int) else Expr.minimum(value, upper)
    return value


def _components(
    instruction: Instruction, d: GatherDimensions, vectors: Sequence[int], context: KnownIntegers
) -> list[Pieces]:
    """The values of each component by the number of the vector; of a constant those of this component alone."""
    indices, numbers = instruction.operands[d.indices_operand], d.start_components.values()
    literal = indices._known_literal()
    if literal is not None:
        with suppress(HlomapError):  # it does not fit into 64 bits
            values = np.asarray(literal)
            if d.index_vector_dim == values.ndim:
                values = values[..., None]
            return [pieces_for_maps(pieces_of(np.take(values, k, axis=d.index_vector_dim))) for k in numbers]
    known = pieces_for_maps(context.known_integers(indices))
    if known is UNKNOWN:
        return [UNKNOWN] * len(numbers)
    maps = [IndexingMap(vectors, _of_component(d, dim_exprs(len(vectors)), k)) for k in numbers]
    return [tuple(piece for each in known if (piece := through(m, each)) is not None) or UNKNOWN for m in maps]


def _of_component(d: GatherDimensions, vector: Sequence[Expr], k: int) -> list[ExprLike]:
    """The index of component k of a vector in the indices."""
    element: list[ExprLike] = [*vector]
    if d.index_vector_dim < len(d.indices_sizes):
        element.insert(d.index_vector_dim, k)
    return element


# Maps between an array and its windows at index vectors, as gather reads and scatter updates them.
#
# An element of a window lies in the operand at its offset in the window plus the start of the window
# (:class:`~hlomap.ops._attributes.GatherDimensions`).


Constraints = list[tuple[ExprLike, int, int]]


def _starts(
    instruction: Instruction, d: GatherDimensions, vector: Sequence[Expr], context: KnownIntegers
) -> Iterator[tuple[dict[int, ExprLike], list[Any], Constraints]]:
    """By operand dimension the start of a vector's window, with the runtime variables and constraints on the vector.

    The vectors are those in regions without common vectors.  Where the values of the indices are known, so are the
    starts; any other is a new runtime variable.  Without clamping, that has one value more on either side, which
    represents all starts out of bounds.
    """
    outside = 0 if d.clamps else 1
    sizes = [d.indices_sizes[i] for i in d.batch_dims]
    components = _components(instruction, d, sizes, context)
    regions = list(together(components))
    if len(regions) > _MAX_REGIONS:
        regions = list(together([UNKNOWN] * len(components)))
    for region, chosen in regions:
        starts: dict[int, ExprLike] = {}
        runtime: list[Any] = []
        for (p, k), piece in zip(d.start_components.items(), chosen, strict=True):
            bounds = (-outside, d.last_start(p) + outside)
            value = known_value(piece)
            if value is None:
                starts[p] = Expr.runtime(len(runtime))
                runtime.append((*bounds, d.indices_operand, _of_component(d, vector, k)))
                continue
            if isinstance(value, int):
                own = (value, value)
            else:
                own = (region or IndexingMap(sizes, [])).bounds(value)
                value = value.substitute(dims=vector)
            starts[p] = clamp(value, own, bounds) if d.clamps else value
        yield starts, runtime, [*within(region, sizes, vector)]


def window_to_operand(
    instruction: Instruction, d: GatherDimensions, context: KnownIntegers, *, in_operand: bool = False
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


def outside_windows(instruction: Instruction, d: GatherDimensions, context: KnownIntegers) -> Footprint:
    """The identity on the elements of the operand that are not certainly in a window of a scatter.

    A single window may start anywhere.  Of several windows, those count whose start is known: where the others lie is
    in the indices, so that any element is mentioned.
    """
    sizes, indices = d.operand_sizes, dim_exprs(len(d.operand_sizes))
    if prod(d.output_sizes[o] for o in d.batch_dims.values()) == 1:
        vector = [Expr.constant(0)] * len(d.batch_dims)
        starts, runtime, _ = next(_starts(instruction, d, vector, context))
        in_window: list[tuple[ExprLike, int, int, int, int]] = []
        for p, start in starts.items():
            last, extent = d.last_start(p), d.window_sizes[p]
            if isinstance(start, Expr) and start.kind == "constant":
                start = start.value or 0
            if isinstance(start, int):
                if not 0 <= start <= last:
                    return identity_map(sizes)
                in_window.append((indices[p], start, start + extent - 1, 0, sizes[p] - 1))
                continue
            if extent > 1:
                in_window.append((start, 0, last, -1, last + 1))
            in_window.append((indices[p] - start, 0, extent - 1, -last - 1, sizes[p]))
        in_window += [
            (indices[p], 0, extent - 1, 0, sizes[p] - 1)
            for p, extent in enumerate(d.window_sizes)
            if p not in starts and extent < sizes[p]
        ]
        return outside(sizes, indices, in_window, runtime=runtime)
    known = [m for _, m in window_to_operand(instruction, d, context).maps if not m.runtime]
    if not known:
        return identity_map(sizes)
    from ...maps.map_set import MapSet  # which programs without such a scatter do without

    kept = MapSet(m for _, m in identity_map(sizes).maps).image() - MapSet(known).image()
    if not kept.exact:
        return identity_map(sizes)
    found = Footprint(((), m) for m in kept).inverse(sizes)
    own = (IndexingMap(m.dims, indices, ranges=m.ranges, constraints=m.constraints) for _, m in found.maps)
    return Footprint(((), m) for m in own).simplified()
