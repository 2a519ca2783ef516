"""Values of an array that are known at compile time, as regions of its elements with their values.

The pieces of an array cover it, so an unknown part is also a piece.  Each operation has its rule for pieces next to its
semantics (``Values.known``); the walk over a program is in :mod:`hlomap.analysis.known_values`.
Under the assumption of the walk, every element has one of the values of its piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol, TypeAlias

from .._core import Computation, Expr, IndexingMap, Instruction, _coalesce
from ..base.types import ShapeIndex
from ..maps.variables import with_variables
from ._evaluation import Device
from ._rule import Footprint, OperandIndexing
from ._scalars import dtype_interval

MAX_PIECES = 64
"""Pieces of an array, or combinations of values of operands: more are not told apart."""


MASK = -1e4
"""The largest number that programs in use mask scores with: that of BERT in half precision."""


class Some(Enum):
    """A number that is not known."""

    NUMBER = "any finite number"
    MASK = "a number so negative that its exponential is 0"


Number: TypeAlias = "bool | int | float"
ValueSet: TypeAlias = "frozenset[Number | Some]"
"""The values that an element may have; NaN is ``math.nan`` itself."""

NUMBER: ValueSet = frozenset({Some.NUMBER})
ANYTHING: ValueSet = frozenset({Some.NUMBER, math.inf, -math.inf, math.nan})


class Piece(NamedTuple):
    """A region of an array, as the domain of a map without results; None is the whole array.

    ``values``: the possible values of each element, or an integer that is affine in the index of the element.
    """

    values: ValueSet | Expr
    region: IndexingMap | None = None

    @property
    def possible(self) -> ValueSet:
        """The values that do not depend on the index."""
        return NUMBER if isinstance(self.values, Expr) else self.values

    @property
    def is_known(self) -> bool:
        """Whether the value of each element is known."""
        return isinstance(self.values, Expr) or is_constant(self.values)


Pieces: TypeAlias = tuple[Piece, ...]
UNKNOWN: Pieces = (Piece(NUMBER),)


class Parts(tuple["Pieces | Parts", ...]):
    """The elements of a tuple; one piece in its place holds for all arrays in it."""

    __slots__ = ()


Known: TypeAlias = "Pieces | Parts"
KnownValues: TypeAlias = "Callable[[Instruction, Sequence[Known], KnownContext], Known]"


class KnownContext(Protocol):
    """The walk over a program, as an operation sees it."""

    @property
    def masks(self) -> bool:
        """Whether large negative constants count as masks."""

    @property
    def device(self) -> Device | None:
        """The device on which the program runs; None for any."""

    def maps(self, instruction: Instruction) -> Mapping[int, OperandIndexing]:
        """From an element of the output to the operands, by number."""

    def apply(self, computation: Computation, arguments: Sequence[ValueSet]) -> ValueSet:
        """The values of a computation on scalars."""

    def parameters_read(
        self, computation: Computation, index: ShapeIndex, arguments: Sequence[ValueSet]
    ) -> frozenset[int]:
        """The parameters from which a computation on scalars computes an array of its root, for these arguments;
        ``UnsupportedError`` as :meth:`RuleContext.parameters_read <hlomap.ops._rule.RuleContext.parameters_read>`."""


def is_constant(values: ValueSet) -> bool:
    """Whether there is one value, which is known."""
    return len(values) == 1 and not any(isinstance(value, Some) for value in values)


def constant_or_affine(value: Expr) -> ValueSet | Expr:
    """The values of an integer, which may not depend on the index."""
    return frozenset([value.value or 0]) if value.kind == "constant" else value


def is_mask(value: Number | Some) -> bool:
    """Whether a number is a mask under the assumption of masks."""
    return value is Some.MASK or (not isinstance(value, Some) and -math.inf < value <= MASK)


def is_plain(pieces: Known) -> bool:
    """Whether nothing is known but that all numbers are finite."""
    return pieces == UNKNOWN


def uniform(pieces: Pieces) -> Pieces:
    """The values of all pieces together, of each element."""
    return (Piece(pieces[0].possible.union(*(piece.possible for piece in pieces[1:]))),)


def meet(a: IndexingMap | None, b: IndexingMap | None) -> IndexingMap | None:
    """The common part of two regions; None is all, and a region that :attr:`is_known_empty` has no elements."""
    if a is None or b is None or a == b:
        return a if b is None else b
    dims = [(max(v.lower, w.lower), min(v.upper, w.upper)) for v, w in zip(a.dims, b.dims, strict=True)]
    return IndexingMap(dims, [], constraints=[*a.constraints, *b.constraints]).simplify()


def together(arrays: Sequence[Pieces]) -> Iterator[tuple[IndexingMap | None, tuple[Piece, ...]]]:
    """The regions in which each of several arrays of equal sizes has one piece."""
    found: list[tuple[IndexingMap | None, tuple[Piece, ...]]] = [(None, ())]
    for pieces in arrays:
        if len(found) * len(pieces) > MAX_PIECES:
            pieces = uniform(pieces)
        crossed = ((meet(region, piece.region), (*before, piece)) for region, before in found for piece in pieces)
        found = [(region, chosen) for region, chosen in crossed if region is None or not region.is_known_empty]
    return iter(found)


def through(m: IndexingMap, piece: Piece) -> Piece | None:
    """The piece of the array that a map without ranges and runtime variables starts from; None if it is empty."""
    region = piece.region
    if region is None:
        return Piece(piece.values, _domain(m))
    value = [piece.values] if isinstance(piece.values, Expr) else []
    found = m.then(IndexingMap(list(region.dims), value, constraints=list(region.constraints))).simplify()
    if found.is_known_empty:
        return None
    return Piece(found.results[0] if value else piece.values, _domain(found))


def _domain(m: IndexingMap) -> IndexingMap:
    return IndexingMap(list(m.dims), [], constraints=list(m.constraints))


def with_ranges_as_dims(m: IndexingMap) -> IndexingMap:
    """The map from its points: ranges are the last dims."""
    points = [Expr.dim(i) for i in range(len(m.dims) + len(m.ranges))]
    bounds = [(v.lower, v.upper) for v in (*m.dims, *m.ranges)]
    return with_variables(m, bounds, [], (points[: len(m.dims)], points[len(m.dims) :]))


def merged(pieces: Iterable[Piece], sizes: Sequence[int]) -> Pieces:
    """Merge pieces, which together cover an array of these sizes, into fewer."""
    by_values: dict[ValueSet | Expr, list[IndexingMap | None]] = {}
    for piece in pieces:
        by_values.setdefault(piece.values, []).append(piece.region)
    if not by_values:
        return UNKNOWN
    if len(by_values) == 1:
        ((values, _),) = by_values.items()
        return (Piece(values, IndexingMap(list(sizes), []) if isinstance(values, Expr) else None),)
    found: list[Piece] = []
    for values, regions in by_values.items():
        found += [Piece(values, region) for region in fewer(regions)]
    return tuple(found) if len(found) <= MAX_PIECES else uniform(tuple(found))


def fewer(regions: Sequence[IndexingMap | None]) -> Sequence[IndexingMap | None]:
    """Fewer regions with the same elements."""
    known = [region for region in regions if region is not None]
    if len(known) < len(regions):
        return [None]
    return [region for region, _ in _coalesce(known)] if len(known) > 1 else known


def at_points(part: OperandIndexing | None, pieces: Known) -> Pieces | None:
    """The pieces of an operand by the points of the one map to it; None if that has runtime variables."""
    if not isinstance(part, Footprint) or len(part.maps) != 1 or isinstance(pieces, Parts):
        return None
    ((_, m),) = part.maps
    if m.runtime:
        return None
    points = with_ranges_as_dims(m)
    return tuple(found for piece in pieces if (found := through(points, piece)) is not None)


def used_where(
    plain: Mapping[int, OperandIndexing], arrays: Sequence[Pieces], matters: Callable[[int, Sequence[ValueSet]], bool]
) -> Mapping[int, OperandIndexing]:
    """The maps to operands at the points at which these may change the result.

    ``matters(k, values)`` says whether operand k may, if the operands have these values.
    """
    keep: dict[int, list[IndexingMap | None]] = {k: [] for k in plain}
    cases = list(together(arrays))
    for region, pieces in cases:
        values = [piece.possible for piece in pieces]
        for k, regions in keep.items():
            if matters(k, values):
                regions.append(region)
    return {k: plain[k] if len(regions) == len(cases) else restricted(plain[k], regions) for k, regions in keep.items()}


def restricted(part: OperandIndexing, regions: Sequence[IndexingMap | None]) -> OperandIndexing:
    """The maps of a footprint at the points of some regions, whose dims are those of the maps and then their ranges."""
    if not isinstance(part, Footprint) or None in regions or any(m.runtime for _, m in part.maps):
        return part
    found = []
    for region in fewer(regions):
        for shape_index, m in part.maps:
            common = meet(_domain(with_ranges_as_dims(m)), region)
            if common is None or common.is_known_empty:
                continue
            n = len(m.dims)
            points = [*map(Expr.dim, range(n)), *map(Expr.range, range(len(m.ranges)))]
            constraints = [(c.expr.substitute(dims=points), c.lower, c.upper) for c in common.constraints]
            dims, ranges = common.dims[:n], common.dims[n:]
            found.append((shape_index, IndexingMap(dims, list(m.results), ranges=ranges, constraints=constraints)))
    return part.of(found)


def moved(*data: int) -> KnownValues:
    """The rule of an operation whose output elements are all elements of these operands (none: of any operand)."""

    def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
        numbers = data or range(len(operands))
        arrays = {k: pieces for k in numbers if not isinstance(pieces := operands[k], Parts)}
        dtype = instruction.shape.dtype
        if len(arrays) < len(numbers) or any(instruction.operands[k].shape.dtype != dtype for k in numbers):
            return converted(instruction, operands)
        every = tuple(piece for pieces in arrays.values() for piece in pieces)
        if len({piece.values for piece in every}) == 1 and not isinstance(every[0].values, Expr):
            return (Piece(every[0].values),)
        maps = context.maps(instruction)
        found: list[Piece] = []
        for k, pieces in arrays.items():
            part = maps.get(k, Footprint())
            if not isinstance(part, Footprint) or not part.exact or any(m.runtime or m.ranges for _, m in part.maps):
                return uniform(every)
            reached = (through(m, piece) for _, m in part.maps for piece in pieces)
            found += [piece for piece in reached if piece is not None]
        return merged(found, instruction.shape.dimensions)

    return known_values


def converted(instruction: Instruction, operands: Sequence[Known]) -> Known:
    """An operation without an entry: finite numbers give finite numbers, and of others nothing is known."""
    values = {value for pieces in operands for piece in leaves(pieces) for value in piece.possible}
    is_finite = all(isinstance(value, Some) or math.isfinite(value) for value in values)
    return UNKNOWN if is_finite else nothing_known(instruction)


def nothing_known(instruction: Instruction) -> Pieces:
    """Elements that may have any value of their type."""
    shape = instruction.shape
    return UNKNOWN if shape.is_array and dtype_interval(shape.dtype) is not None else (Piece(ANYTHING),)


def leaves(known: Known) -> Iterator[Piece]:
    """The pieces of all arrays."""
    pending: list[Known] = [known]
    while pending:
        one = pending.pop()
        if isinstance(one, Parts):
            pending += one
        else:
            yield from one
