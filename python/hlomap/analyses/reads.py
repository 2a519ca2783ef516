"""How many elements of an operand a union of maps reads, and how many bytes they are.

:func:`reads` gives the record :class:`Reads`.  ``lower <= true number <= upper`` always holds: the parts of a union may
overlap, so without a proof that they do not the sum of their counts is an upper bound and the greatest of them a lower
one; a union that may hold too much has the lower bound 0; an unknown one lies between nothing and the whole operand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

from .._core import IndexingMap, Shape

__all__ = ["Reads", "reads", "unknown"]

_INT64_MAX = 2**63 - 1
_MAX_PAIRWISE = 16  # unions with more parts are not searched for a proof of disjointness
_DTYPE_BITS = re.compile(r"[a-z]+(\d+)")


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
    texts = tuple(map(str, maps))
    size, bits = _extent(shape)
    divmod_, touched_lower, touched_upper, distinct_lower, distinct_upper = _counts(maps, texts)
    if not exact:
        touched_lower = distinct_lower = 0
    distinct_upper = size if distinct_upper is None else min(size, distinct_upper)
    return Reads(
        maps=texts,
        exact=exact,
        divmod=divmod_,
        touched_lower=min(touched_lower, _INT64_MAX),
        touched_upper=_fitting(touched_upper),
        distinct_lower=min(distinct_lower, _INT64_MAX),
        distinct_upper=_fitting(distinct_upper),
        bytes=_fitting(-(-distinct_upper * bits // 8)),
        unknown=None,
    )


def unknown(reason: str, parts: Sequence[Shape]) -> Reads:
    """The record where nothing is known: anything between no element and the whole operand, all its leaves, is read.

    >>> import hlomap as hm
    >>> record = unknown("no rule", [hm.Shape.parse("f32[3]"), hm.Shape.parse("bf16[2,5]")])
    >>> record.distinct_lower, record.distinct_upper, record.bytes
    (0, 13, 32)
    """
    extents = [_extent(part) for part in parts]
    size = sum(size for size, _ in extents)
    n_bytes = sum(-(-size * bits // 8) for size, bits in extents)
    return Reads((), False, 0, 0, None, 0, _fitting(size), _fitting(n_bytes), reason)


_Counts = tuple[int, int, int | None, int, int | None]  # divmod, touched lower and upper, distinct lower and upper

# A map's text says all of the map, so it is the key; equal maps are common within and between modules.  The memory
# is dropped whole when it is full, and holds nothing that could go stale.
_memory: dict[str | tuple[str, ...], _Counts] = {}
_MEMORY_SIZE = 1 << 16


def _counts(maps: Sequence[IndexingMap], texts: tuple[str, ...]) -> _Counts:
    if not maps:
        return 0, 0, 0, 0, 0
    key = texts[0] if len(texts) == 1 else texts
    known = _memory.get(key)
    if known is None:
        known = _count_one(maps[0]) if len(maps) == 1 else _count_union(maps, texts)
        if len(_memory) >= _MEMORY_SIZE:
            _memory.clear()
        _memory[key] = known
    return known


def _count_one(m: IndexingMap) -> _Counts:
    touched, distinct = m.count(), m.count(distinct=True)
    return m.cost().divmod, touched.lower, touched.upper, distinct.lower, distinct.upper


def _count_union(maps: Sequence[IndexingMap], texts: tuple[str, ...]) -> _Counts:
    parts = [_counts([m], (text,)) for m, text in zip(maps, texts, strict=True)]
    divmods, touched_lowers, touched_uppers, distinct_lowers, distinct_uppers = zip(*parts, strict=True)
    few = len(maps) <= _MAX_PAIRWISE
    outputs_apart = few and _disjoint([[(d.lower, d.upper) for d in m.dims] for m in maps])
    elements_apart = few and _disjoint([[m.bounds(i) for i in range(len(m.results))] for m in maps])
    return (
        sum(divmods),
        # Reads of different output elements, or of different operand elements, are different reads.
        sum(touched_lowers) if outputs_apart or elements_apart else max(touched_lowers),
        None if None in touched_uppers else sum(touched_uppers),
        sum(distinct_lowers) if elements_apart else max(distinct_lowers),
        None if None in distinct_uppers else sum(distinct_uppers),
    )


def _disjoint(boxes: Sequence[Sequence[tuple[int, int]]]) -> bool:
    """Whether no two of these boxes, of equal rank, share a point."""
    return all(
        any(a_hi < b_lo or b_hi < a_lo for (a_lo, a_hi), (b_lo, b_hi) in zip(a, b, strict=True))
        for a, b in combinations(boxes, 2)
    )


@lru_cache(maxsize=4096)
def _extent(shape: Shape) -> tuple[int, int]:
    """How many elements an array has, and how many bits each takes in memory."""
    if not shape.is_array:
        return 0, 0
    match = _DTYPE_BITS.fullmatch(shape.dtype) or _DTYPE_BITS.match(shape.dtype)
    bits = max(8, int(match[1])) if match else 8  # a sub-byte element takes a byte unless the layout packs it
    if shape.layout is not None and shape.layout.element_size_in_bits:
        bits = shape.layout.element_size_in_bits
    return shape.n_elements, bits


def _fitting(n: int | None) -> int | None:
    """A bound past 64 bits is given up, never cut."""
    return n if n is None or n <= _INT64_MAX else None
