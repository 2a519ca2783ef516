"""Converts maps between elements to maps between positions, or dimensions, in memory.

:func:`to_physical` is the entry point.  A set with a map that overflows 64 bits is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from .._core import Expr, IndexingMap, Shape, compose_many, linear_index, logical_index
from ..base.text import one_line
from ..errors import HlomapError
from ..maps.map_set import MapSet
from ..ops._shapes import shape_at

Physical: TypeAlias = bool | Literal["linear", "dims"]
"""``False``: elements; ``True`` or ``"linear"``: positions in memory; ``"dims"``: dimensions in memory order."""

Form: TypeAlias = Literal["linear", "dims"]


def memory_form(physical: Physical, function: str) -> Form | None:
    """The form of indices in memory; None for logical indices.  Raises ``ValueError`` for any other value."""
    if isinstance(physical, bool):
        return "linear" if physical else None
    if isinstance(physical, str) and physical in ("linear", "dims"):
        return physical
    found = one_line(repr(physical), 60)
    raise ValueError(f"hm.{function}: expected False, True, 'linear' or 'dims' as `physical`, got {found}")


def to_physical(maps: MapSet, source: Shape, target: Shape, form: Form = "linear") -> MapSet:
    """Convert maps to indices in memory: of the array ``source``, and of the arrays in ``target``."""
    if maps.is_unknown or not maps:
        return maps
    try:
        from_memory, to_memory = _FORMS[form]
        to_index = from_memory(source)
        to_position = {m.shape_index: to_memory(shape_at(target, m.shape_index)) for m in maps}
    except (HlomapError, OverflowError) as error:
        return MapSet.unknown(f"layout: {error}")
    done: list[IndexingMap] = []
    try:
        for m in maps:
            (first,) = compose_many([(to_index, m)], simplify=True, drop_unused=True)
            done += compose_many([(first, to_position[m.shape_index])], simplify=True, drop_unused=True)
    except (HlomapError, OverflowError) as error:
        return MapSet.unknown(f"composition: {error}")
    physical = maps._replace_maps(done)
    return physical._select([m for m in physical if not m.is_known_empty])


def _memory_order(shape: Shape) -> list[int]:
    """The dimensions of an array, major to minor; tiles do not change their order.  Raises for an invalid layout."""
    n = len(shape.physical.dimensions)
    return list(range(n)) if shape.layout is None else list(reversed(shape.layout.minor_to_major))


def _to_memory_order(shape: Shape) -> IndexingMap:
    order = _memory_order(shape)
    return IndexingMap(shape.dimensions, [Expr.dim(d) for d in order])


def _from_memory_order(shape: Shape) -> IndexingMap:
    order = _memory_order(shape)
    results = [Expr.dim(k) for _, k in sorted((d, k) for k, d in enumerate(order))]
    return IndexingMap([shape.dimensions[d] for d in order], results)


_FORMS: dict[Form, tuple[Callable[[Shape], IndexingMap], Callable[[Shape], IndexingMap]]] = {
    "linear": (logical_index, linear_index),
    "dims": (_from_memory_order, _to_memory_order),
}
