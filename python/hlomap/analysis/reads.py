"""The number of elements, and of bytes, that a union of maps reads from an operand.

:func:`reads` returns the record :class:`Reads`: ``lower <= true number <= upper``.  The maps of a union may
overlap: without a proof that they are disjoint, the sum of their counts is an upper bound and the largest count a
lower bound.  The lower bound is 0 if the union is not exact; if it is unknown, the number lies between 0 and the size
of the operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import IndexingMap, Shape, _extent, _reads


@dataclass(frozen=True, slots=True)
class Reads:
    """The elements of one operand that the whole of one output reads.

    ``touched_*`` count reads, ``distinct_*`` count elements; an upper bound of ``None`` is unknown.  ``bytes`` is
    ``distinct_upper`` times the bytes that an element takes in memory, and ``divmod`` the number of floordiv and mod
    nodes in all maps.
    """

    maps: tuple[str, ...]
    exact: bool
    divmod: int
    touched_lower: int
    touched_upper: int | None
    distinct_lower: int
    distinct_upper: int | None
    bytes: int | None
    unknown: str | None


def reads(maps: Sequence[IndexingMap], exact: bool, shape: Shape) -> Reads:
    """The record of a union of maps into an array of this shape; ``exact`` is whether the union is exact.

    >>> column = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 1], s0 in [0, 2]")
    >>> record = reads([column], True, hm.Shape.parse("f32[3]"))
    >>> record.touched_lower, record.touched_upper, record.distinct_upper, record.bytes
    (6, 6, 3, 12)
    """
    found = _reads(maps, exact, shape)
    return Reads(tuple(found[0]), exact, *found[1:], None)


def unknown(reason: str, parts: Sequence[Shape]) -> Reads:
    """The record of an unknown indexing, which reads between no and all elements of all arrays.

    >>> record = unknown("no rule", [hm.Shape.parse("f32[3]"), hm.Shape.parse("bf16[2,5]")])
    >>> record.distinct_lower, record.distinct_upper, record.bytes
    (0, 13, 32)
    """
    size, n_bytes = _extent(parts)
    return Reads((), False, 0, 0, None, 0, size, n_bytes, reason)
