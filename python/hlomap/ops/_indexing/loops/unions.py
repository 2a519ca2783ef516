"""Unions of maps in fewer maps, and maps with a dim, a result or a constraint more or less."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...._core import Constraint, Expr, IndexingMap, Variable, _coalesce
from ....maps.map_set import MapSet
from ..._rule import ExprLike
from ..maps import dim_exprs
from .ranges import tighten

__all__ = [
    "MAX_MAPS", "by_clock", "covers", "joined", "keep_time", "reduced", "tight", "with_constraint", "without_last_dim",
    "without_last_result",
]  # fmt: skip

MAX_MAPS = 64
"""Maps to one leaf; more become one map of the whole array."""


def reduced(maps: Iterable[IndexingMap]) -> list[IndexingMap]:
    """The same union in fewer maps."""
    distinct = list(dict.fromkeys(m.simplify(keep_point_dims=True, drop_unused=True) for m in maps))
    distinct = [m for m in distinct if not m.is_known_empty]
    return joined(distinct)


def joined(maps: list[IndexingMap]) -> list[IndexingMap]:
    """The same union, where it takes fewer maps."""
    maps = list(dict.fromkeys(maps))
    return [m for m, _ in _coalesce(maps)] if 1 < len(maps) <= MAX_MAPS else maps


def tight(maps: Iterable[IndexingMap]) -> set[IndexingMap]:
    """The maps in their simplest forms: where two sets are equal, so are the unions."""
    return {tighten(m) for m in reduced(maps)}


def covers(larger: Sequence[IndexingMap], smaller: Sequence[IndexingMap]) -> bool:
    """Whether a union surely contains another one."""
    return MapSet(larger).covers(MapSet(smaller)).equal is True


def by_clock(m: IndexingMap, shift: int) -> IndexingMap:
    """The map of one iteration from (element, clock before) to (element, clock after); it counts down by ``shift``."""
    n = len(m.dims) - 1
    clock = Expr.dim(n)
    t, after = (clock - 1, clock - 1) if shift else (clock, clock + 1)
    dims = [*dim_exprs(n), t]
    return IndexingMap(
        [*((v.lower, v.upper) for v in m.dims[:n]), (m.dims[n].lower + shift, m.dims[n].upper + shift)],
        [*(e.substitute(dims=dims) for e in m.results), after],
        ranges=m.ranges,
        runtime=[
            Variable(None, v.lower, v.upper, source=v.source, index=[e.substitute(dims=dims) for e in v.index])
            for v in m.runtime
        ],
        constraints=[(c.expr.substitute(dims=dims), c.lower, c.upper) for c in m.constraints],
    )


def keep_time(m: IndexingMap) -> IndexingMap:
    """The same map with the iteration as a result, too."""
    return _changed(m, results=[*m.results, Expr.dim(len(m.dims) - 1)])


def without_last_dim(m: IndexingMap) -> IndexingMap:
    """A map that does not depend on its last dim, without that dim."""
    return _changed(m, dims=m.dims[:-1])


def without_last_result(m: IndexingMap) -> IndexingMap:
    """The same map without its last result."""
    return _changed(m, results=m.results[:-1])


def with_constraint(m: IndexingMap, constraint: tuple[ExprLike, int, int]) -> IndexingMap:
    """The same map with one more constraint."""
    return _changed(m, constraints=[*m.constraints, constraint])


def _changed(
    m: IndexingMap,
    *,
    dims: Sequence[Variable] | None = None,
    results: Sequence[ExprLike] | None = None,
    constraints: Sequence[tuple[ExprLike, int, int] | Constraint] | None = None,
) -> IndexingMap:
    impossible: tuple[ExprLike, int, int] = (0, 1, 1)
    kept = m.constraints if constraints is None else constraints
    return IndexingMap(
        m.dims if dims is None else dims,
        m.results if results is None else results,
        ranges=m.ranges,
        runtime=m.runtime,
        constraints=[impossible] if m.is_known_empty else kept,
    )
