"""Runtime sources in what rules say: which there are, and the same maps with other numbers for them.

:func:`with_sources` is the way in.  The law: sources that become one make their variables one, so a map whose offsets
come to be the same value is simplified again.  What a number stands for only the walker knows.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._core import IndexingMap
from ..ops._rule import Footprint, OperandIndexing
from ..types import Unknown

__all__ = ["sources_of", "with_sources"]


def sources_of(parts: Mapping[int, OperandIndexing]) -> set[int]:
    """The runtime sources in all maps."""
    return {
        v.source
        for part in parts.values()
        if isinstance(part, Footprint)
        for _, m in part.maps
        for v in m.runtime
        if v.source is not None
    }


def with_sources(part: OperandIndexing, numbers: Mapping[int, int]) -> OperandIndexing:
    """A part with its sources under other numbers, without what turns out empty."""
    if isinstance(part, Unknown):
        return part
    moved = [(leaf, _renumbered(m, numbers) if m.runtime else m) for leaf, m in part.maps]
    return part.of((leaf, m) for leaf, m in moved if not m.is_known_empty)


def _renumbered(m: IndexingMap, numbers: Mapping[int, int]) -> IndexingMap:
    """Sources under other numbers; those that become one make their variables one."""
    sources = {v.source for v in m.runtime}
    moved = m.remap_sources(numbers)
    if len({v.source for v in moved.runtime}) < len(sources):
        return moved.simplify(drop_unused=True)
    return moved
