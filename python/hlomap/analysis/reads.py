"""How many elements of an operand a union of maps reads, and how many bytes they are.

:func:`reads` gives the record :class:`Reads`.  ``lower <= true number <= upper`` always holds: the parts of a union may
overlap, so without a proof that they do not the sum of their counts is an upper bound and the greatest of them a lower
one; a union that may hold too much has the lower bound 0; an unknown one lies between nothing and the whole operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._core import IndexingMap, Shape, _extent, _reads

__all__ = ["Reads", "reads", "unknown"]


@dataclass(frozen=True, slots=True)
class Reads:
    """What is read of one operand to make the whole of one output.

    ``touched_*`` counts reads, ``distinct_*`` elements; an upper of ``None`` means that no bound is known.
    ``bytes`` is ``distinct_upper`` elements as they lie in memory, ``divmod`` the floordiv and mod nodes of all maps.
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
    """The record of a union of maps into an array of this shape; ``exact`` says whether the union is.

    >>> import hlomap as hm
    >>> column = hm.IndexingMap.parse("(d0)[s0] -> (s0), domain: d0 in [0, 1], s0 in [0, 2]")
    >>> record = reads([column], True, hm.Shape.parse("f32[3]"))
    >>> record.touched_lower, record.touched_upper, record.distinct_upper, record.bytes
    (6, 6, 3, 12)
    """
    texts, divmod_, touched_lower, touched_upper, distinct_lower, distinct_upper, n_bytes = _reads(maps, exact, shape)
    return Reads(
        maps=tuple(texts),
        exact=exact,
        divmod=divmod_,
        touched_lower=touched_lower,
        touched_upper=touched_upper,
        distinct_lower=distinct_lower,
        distinct_upper=distinct_upper,
        bytes=n_bytes,
        unknown=None,
    )


def unknown(reason: str, parts: Sequence[Shape]) -> Reads:
    """The record where nothing is known: anything between no element and the whole operand, all its leaves, is read.

    >>> import hlomap as hm
    >>> record = unknown("no rule", [hm.Shape.parse("f32[3]"), hm.Shape.parse("bf16[2,5]")])
    >>> record.distinct_lower, record.distinct_upper, record.bytes
    (0, 13, 32)
    """
    size, n_bytes = _extent(parts)
    return Reads((), False, 0, 0, None, 0, size, n_bytes, reason)
