"""Maps one after the other: many at once, and between positions in memory.

:func:`compose_all` is the way in.  What does not fit in 64 bits is unknown and costs only itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._core import IndexingMap, Shape, compose_many, linear_index, logical_index
from ..errors import HlomapError
from ..ops._rule import OperandIndexing
from ..ops._shapes import shape_at
from ..types import ShapeIndex, Unknown

__all__ = ["compose_all", "to_physical"]


def compose_all(pairs: Sequence[tuple[IndexingMap, IndexingMap]]) -> Sequence[IndexingMap | Unknown]:
    """Each first map followed by its second, simplified; what overflows is unknown and costs only itself."""
    if not pairs:
        return []
    try:
        return compose_many(pairs, simplify=True, drop_unused=True)
    except (HlomapError, OverflowError):
        return [_compose_one(pair) for pair in pairs]


def _compose_one(pair: tuple[IndexingMap, IndexingMap]) -> IndexingMap | Unknown:
    try:
        return compose_many([pair], simplify=True, drop_unused=True)[0]
    except (HlomapError, OverflowError) as error:
        return Unknown(f"composition: {error}")


def to_physical(part: OperandIndexing, source: Shape, target: Shape) -> OperandIndexing:
    """The same maps between positions in memory: of an array, and of the leaves of a value."""
    if isinstance(part, Unknown) or not part.maps:
        return part
    maps: list[tuple[ShapeIndex, IndexingMap]] = []
    try:
        begin = logical_index(source)
        ends = {leaf: linear_index(shape_at(target, leaf)) for leaf, _ in part.maps}
    except (HlomapError, OverflowError) as error:
        return Unknown(f"layout: {error}")
    placed = compose_all([(begin, m) for _, m in part.maps])
    for (leaf, _), m in zip(part.maps, placed, strict=True):
        done = m if isinstance(m, Unknown) else _compose_one((m, ends[leaf]))
        if isinstance(done, Unknown):
            return done
        if not done.is_known_empty:
            maps.append((leaf, done))
    return part.of(maps)
