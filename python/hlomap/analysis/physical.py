"""From maps between elements to maps between positions in memory.

:func:`to_physical` is the entry point.  A set with a map that overflows 64 bits is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import IndexingMap, Shape, compose_many, linear_index, logical_index
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at
from ..types import Unknown

__all__ = ["to_physical"]


def to_physical(maps: MapSet, source: Shape, target: Shape) -> MapSet:
    """The same maps between positions in memory: of the array ``source``, and of the arrays in ``target``."""
    if maps.is_unknown or not maps:
        return maps
    try:
        to_index = logical_index(source)
        to_position = {m.index: linear_index(shape_at(target, m.index)) for m in maps}
    except (HlomapError, OverflowError) as error:
        return MapSet.unknown(f"layout: {error}")
    done: list[IndexingMap] = []
    for m, first in zip(maps, _compose_all([(to_index, m) for m in maps]), strict=True):
        moved = first if isinstance(first, Unknown) else _compose((first, to_position[m.index]))
        if isinstance(moved, Unknown):
            return MapSet.unknown(moved.reason)
        done.append(moved)
    physical = maps._replace_maps(done)
    return physical._select([m for m in physical if not m.is_known_empty])


def _compose_all(pairs: Sequence[tuple[IndexingMap, IndexingMap]]) -> Sequence[IndexingMap | Unknown]:
    """The composition of each pair, simplified."""
    try:
        return compose_many(pairs, simplify=True, drop_unused=True)
    except (HlomapError, OverflowError):
        return [_compose(pair) for pair in pairs]


def _compose(pair: tuple[IndexingMap, IndexingMap]) -> IndexingMap | Unknown:
    try:
        return compose_many([pair], simplify=True, drop_unused=True)[0]
    except (HlomapError, OverflowError) as error:
        return Unknown(f"composition: {error}")
