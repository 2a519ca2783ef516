"""Known values of sums of products, and their used elements: a factor does not matter if the other one is zero."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from .._core import Instruction
from ._known import (
    ANYTHING,
    NUMBER,
    UNKNOWN,
    Known,
    KnownContext,
    Number,
    Parts,
    Piece,
    Some,
    ValueSet,
    at_points,
    is_plain,
    uniform,
    used_where,
)
from ._rule import OperandIndexing


def known_values(instruction: Instruction, operands: Sequence[Known], context: KnownContext) -> Known:
    """Zero if all terms are; a value of a term that is not finite may be in any sum."""
    if len(operands) != 2 or all(map(is_plain, operands)):
        return UNKNOWN
    left, right = (uniform(pieces)[0].possible for pieces in operands if not isinstance(pieces, Parts))
    terms = frozenset(term for a, b in product(left, right) for term in _times(a, b))
    if terms == {0}:
        return (Piece(terms),)
    special = {term for term in terms if not isinstance(term, Some) and not math.isfinite(term)}
    if not special:
        return UNKNOWN
    return (Piece(frozenset({math.nan, Some.NUMBER}) if special == {math.nan} else ANYTHING),)


def _times(a: Number | Some, b: Number | Some) -> ValueSet:
    """The values of a product, if unknown numbers are finite."""
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
    found = (at_points(plain.get(k), pieces) for k, pieces in enumerate(operands))
    terms = [pieces for pieces in found if pieces is not None]

    def matters(k: int, values: Sequence[ValueSet]) -> bool:
        own, other = values if k == 0 else reversed(values)
        return any(isinstance(value, Some) or not _settles(value, own) for value in other)

    return used_where(plain, terms, matters) if len(terms) == 2 else plain


def _settles(value: Number, others: ValueSet) -> bool:
    """Whether the product of a known value with any of these others is one value."""
    return value is math.nan or (
        value == 0 and all(isinstance(other, Some) or math.isfinite(other) for other in others)
    )
