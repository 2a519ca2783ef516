"""Changes to the maps of a definition: what the definition's HLO does not say."""

from __future__ import annotations

from collections.abc import Mapping

from ..._core import Expr, IndexingMap
from ...library_calls.band import Role
from .._rule import Footprint


def within_band(
    footprint: Footprint, source: Mapping[Role, int], target: Mapping[Role, int], farthest: int
) -> Footprint:
    """Maps from elements of the source to those of the target, through a query and a key that it sees.

    An element at a query depends on one at a key, or the other way, only through the weight of the two, which is 0
    outside the band (:class:`~hlomap.library_calls.band.Band`).
    """
    return footprint.of((leaf, _restricted(m, source, target, farthest)) for leaf, m in footprint.maps)


def _restricted(m: IndexingMap, source: Mapping[Role, int], target: Mapping[Role, int], farthest: int) -> IndexingMap:
    distances = []
    if Role.QUERY in source and Role.KEY in target:
        distances.append(Expr.dim(source[Role.QUERY]) - m.results[target[Role.KEY]])
    if Role.KEY in source and Role.QUERY in target:
        distances.append(m.results[target[Role.QUERY]] - Expr.dim(source[Role.KEY]))
    if not distances:
        return m
    seen = [(distance, 0, farthest) for distance in distances]
    found = IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=[*m.constraints, *seen])
    return found.simplify(keep_point_dims=True)
