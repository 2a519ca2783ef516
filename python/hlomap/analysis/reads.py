"""The number of elements, and of bytes, that a union of maps reads from an operand.

:func:`reads` returns the record :class:`Reads`: ``lower <= true number <= upper``.  The maps of a union may
overlap: without a proof that they are disjoint, the sum of their counts is an upper bound and the largest count a
lower bound.  The lower bound is 0 if the union is not exact; if it is unknown, the number lies between 0 and the size
of the operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import Count, IndexingMap, Shape, _extent, _reads
from ..base.answers import Unknown

_TOO_LARGE = "it exceeds 64 bits"


@dataclass(frozen=True, slots=True)
class Reads:
    """The elements of one operand that the whole of one output reads.

    ``reads`` counts each read and ``distinct_elements`` each element once; ``distinct_bytes`` is the upper bound of the
    distinct elements times the bytes that an element takes in memory, and ``divmod`` the number of floordiv and mod
    nodes in all maps.  What is not known, or exceeds 64 bits, is :class:`~hlomap.Unknown`.
    """

    maps: tuple[str, ...]
    exact: bool
    divmod: int
    reads: Count | Unknown
    distinct_elements: Count | Unknown
    distinct_bytes: int | Unknown
    unknown: str | None


def reads(maps: Sequence[IndexingMap], exact: bool, shape: Shape) -> Reads:
    """The record of a union of maps into an array of this shape; ``exact`` is whether the union is exact.

    >>> column = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 1], s0 in [0, 2]")
    >>> record = reads([column], True, hm.Shape.parse("f32[3]"))
    >>> record.reads, record.distinct_elements, record.distinct_bytes
    (Count(lower=6, upper=6), Count(lower=3, upper=3), 12)
    """
    texts, divmod, least, most, fewest, greatest, n_bytes = _reads(maps, exact, shape)
    return Reads(tuple(texts), exact, divmod, _count(least, most), _count(fewest, greatest), _known(n_bytes), None)


def unknown(reason: str, parts: Sequence[Shape]) -> Reads:
    """The record of an unknown indexing, which reads between no and all elements of all arrays.

    >>> record = unknown("no rule", [hm.Shape.parse("f32[3]"), hm.Shape.parse("bf16[2,5]")])
    >>> record.reads, record.distinct_elements, record.distinct_bytes
    (Unknown(reason='no rule'), Count(lower=0, upper=13), 32)
    """
    size, n_bytes = _extent(parts)
    return Reads((), False, 0, Unknown(reason), _count(0, size), _known(n_bytes), reason)


def _count(lower: int, upper: int | None) -> Count | Unknown:
    return Unknown(_TOO_LARGE) if upper is None else Count(lower, upper)


def _known(n: int | None) -> int | Unknown:
    return Unknown(_TOO_LARGE) if n is None else n
