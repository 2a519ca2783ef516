"""Known values of a dot, and which of its factors meet only zeros."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from ..._core import IndexingMap, Instruction
from .._known import (
    ANYTHING,
    NUMBER,
    UNKNOWN,
    Known,
    KnownContext,
    Number,
    Parts,
    Piece,
    Pieces,
    Some,
    Values,
    is_plain,
    restricted,
    through,
    together,
    uniform,
    with_ranges_as_dims,
)
from .._rule import Footprint, OperandIndexing


def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """Zero where all terms are; what is not finite in a term may be in any sum."""
    if len(operands) != 2 or all(map(is_plain, operands)):
        return UNKNOWN
    left, right = ((piece,) if isinstance(piece, Parts) else uniform(piece)[0].possible for piece in operands)
    terms: set[Number | Some] = set()
    for a, b in product(left, right):
        terms |= _times(a, b)  # type: ignore[arg-type]
    if terms == {0}:
        return (Piece(frozenset(terms)),)
    special = {term for term in terms if not isinstance(term, Some) and not math.isfinite(term)}
    if not special:
        return UNKNOWN
    return (Piece(frozenset({math.nan, Some.NUMBER}) if special == {math.nan} else ANYTHING),)


def _times(a: Number | Some, b: Number | Some) -> Values:
    """The values of a product, where numbers that are not known are finite."""
    known = [value for value in (a, b) if not isinstance(value, Some)]
    special = [value for value in known if not math.isfinite(value)]
    if not special:
        return frozenset([0]) if 0 in known else NUMBER
    return frozenset([math.nan]) if math.nan in special or 0 in known else ANYTHING


def used(
    instruction: Instruction, operands: Sequence[Known], plain: Mapping[int, OperandIndexing], context: KnownContext
) -> Mapping[int, OperandIndexing]:
    """The maps to one factor without the terms in which the other one is 0, or NaN whatever this one is."""
    if len(operands) != 2 or all(map(is_plain, operands)):
        return plain
    terms: list[Pieces] = []
    for k, pieces in enumerate(operands):
        part = plain.get(k)
        if not isinstance(part, Footprint) or len(part.maps) != 1 or isinstance(pieces, Parts):
            return plain
        ((_, m),) = part.maps
        if m.runtime:
            return plain
        if len(pieces) == 1:
            terms.append((Piece(pieces[0].possible),))
        else:
            terms.append(
                tuple(found for piece in pieces if (found := through(with_ranges_as_dims(m), piece)) is not None)
            )
    keep: dict[int, list[IndexingMap | None]] = {0: [], 1: []}
    n = 0
    for region, (a, b) in together(terms):
        n += 1
        for k, own, other in ((0, a.possible, b.possible), (1, b.possible, a.possible)):
            if any(isinstance(value, Some) or not _settles(value, own) for value in other):
                keep[k].append(region)
    return {k: plain[k] if len(keep[k]) == n else restricted(plain[k], keep[k]) for k in plain}


def _settles(value: Number, others: Values) -> bool:
    """Whether the product of a known value with any of these others is one value."""
    return value is math.nan or (
        value == 0 and all(isinstance(other, Some) or math.isfinite(other) for other in others)
    )
