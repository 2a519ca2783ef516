"""Boxes of dims, the maps restricted to them, and the images of maps over them: the elements that the maps reach.

:func:`image_maps` gives images as maps without dims.  An interval is clipped to 64 bits, which never adds an element,
and the core clips it to the domain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from operator import index
from typing import Any, TypeAlias

from .._core import IndexingMap, Variable, _image_many
from ..base.text import one_line, plural
from ..base.types import expect, expect_items, is_index, wrong_type
from ..errors import ShapeError
from .variables import suppliers_of

Bounds: TypeAlias = tuple[int, int]

Interval: TypeAlias = "int | tuple[int, int] | list[int] | range | slice | None"
"""One value, inclusive bounds, a range or slice with step 1 (which exclude their stop), or None for all values."""

Box: TypeAlias = Sequence[Interval]
"""An interval for each dim."""

_LEAST, _GREATEST = -(2**63), 2**63 - 1
_TAKES = "an interval for each dim as `{}`: an int, (lower, upper), a range, a slice or None"


def read_box(box: Any, function: str, parameter: str = "box") -> list[Bounds] | None:
    """The inclusive bounds of each dim; None if there is no box.

    >>> read_box([7, (1, 2), range(4), slice(3), None], "image")
    [(7, 7), (1, 2), (0, 3), (-9223372036854775808, 2), (-9223372036854775808, 9223372036854775807)]
    """
    if box is None:
        return None
    takes = _TAKES.format(parameter)
    if isinstance(box, (bytes, Mapping, Set)):
        raise wrong_type(function, takes, box)
    items = expect_items(object, box, function, takes)
    return [_cut(*_read_interval(item, function, takes)) for item in items]


def _read_interval(item: object, function: str, takes: str) -> Bounds:
    if item is None:
        return _LEAST, _GREATEST
    try:
        if isinstance(item, (range, slice)):
            lower = _LEAST if item.start is None else index(item.start)
            stop = _GREATEST + 1 if item.stop is None else index(item.stop)
            step = 1 if item.step is None else index(item.step)
            if step != 1:
                raise ShapeError(f"an interval of a box has step 1, found {one_line(repr(item))}")
            if isinstance(item, slice) and ((item.start or 0) < 0 or (item.stop or 0) < 0):
                raise ShapeError(f"a slice of a box counts from 0, not from the end, found {one_line(repr(item))}")
            return lower, stop - 1
        if isinstance(item, (tuple, list)):
            lower, upper = item
            return index(lower), index(upper)
        if is_index(item):
            return index(item), index(item)
    except (TypeError, ValueError) as error:
        if isinstance(error, ShapeError):
            raise
    raise wrong_type(function, takes, item, f"as an item: {one_line(repr(item))}")


def _cut(lower: int, upper: int) -> Bounds:
    """The part of an interval that fits in 64 bits; ``(0, -1)`` if no value does."""
    if lower > upper or lower > _GREATEST or upper < _LEAST:
        return 0, -1
    return max(lower, _LEAST), min(upper, _GREATEST)


def image_maps(maps: Sequence[IndexingMap], bounds: Sequence[Bounds] | None, n_kept: int) -> list[IndexingMap]:
    """Each map with its dims turned into ranges over these bounds; the last ``n_kept`` dims stay dims.

    Raises :class:`~hlomap.errors.ShapeError` if the number of bounds is not that of the other dims.

    >>> m = IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")
    >>> print(*image_maps([m], [(4, 20)], 0))
    ()[s0] -> (s0 * 2), domain: s0 in [4, 9]
    """
    pairs = []
    for m in maps:
        n_dims = len(m.dims) - n_kept
        own = [(_LEAST, _GREATEST)] * n_dims if bounds is None else list(bounds)
        if len(own) != n_dims:
            raise ShapeError(f"the box has rank {len(own)}; the map has {plural(n_dims, 'dim')}")
        pairs.append((m, own))
    return _image_many(pairs)


def restrict_map(m: IndexingMap, dims: Mapping[int, Interval]) -> IndexingMap:
    """:meth:`IndexingMap.restrict`."""
    return restrict(m, read_restriction(dims, "IndexingMap.restrict"))._placed(m.shape_index, m.use, suppliers_of(m))


def read_restriction(dims: Mapping[int, Interval], function: str) -> dict[int, tuple[int, int]]:
    """The inclusive bounds of each dimension."""
    takes = "a mapping from dimension to (lower, upper) as `dims`"
    expect(Mapping, dims, function, takes)
    for i in dims:
        if not is_index(i):
            raise wrong_type(function, takes, i, "as a dimension")
    return dict(zip(map(int, dims), read_box(list(dims.values()), function, "dims") or [], strict=True))


def restrict(m: IndexingMap, bounds: Mapping[int, tuple[int, int]]) -> IndexingMap:
    """The map for the points whose dims lie within bounds."""
    dims = list(m.dims)
    for i, (low, high) in bounds.items():
        if not 0 <= i < len(dims):
            raise ShapeError(f"dimension {i} is out of range: the map has {len(dims)} dims")
        dims[i] = Variable(dims[i].name, max(dims[i].lower, low), min(dims[i].upper, high))
    if m.is_undefined or m.is_known_empty:
        return IndexingMap.undefined(dims) if m.is_undefined else m
    return IndexingMap(dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=m.constraints)
