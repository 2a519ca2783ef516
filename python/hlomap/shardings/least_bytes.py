"""The least bytes that a device must receive to obtain its part of an output, wherever elements are computed.

:func:`least_bytes` is the entry point.  The pairs of an output element and a remote element that it reads form a
bipartite graph, and for each pair the device must receive one of the two: the least bytes are those of a vertex cover.
If weights of the pairs add up to at most the bytes of each element, their total is a lower bound.  A cover has whole
elements, so the bound can be rounded up to a sum of element sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import ceil, gcd, prod
from typing import TypeAlias

from .._core import Expr, IndexingMap
from ..maps.variables import variables_of, with_dims

Box: TypeAlias = list[tuple[int, int]]
"""The first index along each dimension, and the exclusive end."""


@dataclass(frozen=True)
class Relation:
    """The pairs of one map: an output element of a device, and an element that it reads from other devices."""

    n_pairs: int
    """At least."""
    most_reads: int
    """The most elements that one output element reads."""
    most_readers: int
    """The most output elements that read one element."""
    element_bytes: Fraction
    matched: Fraction
    """A lower bound of the least bytes, from the pieces of the map."""


def relate(
    m: IndexingMap,
    pieces: Sequence[IndexingMap],
    element_bytes: Fraction,
    output_bytes: Fraction,
    most_readers: int,
) -> Relation:
    """The relation of a map, given its remote reads as pieces without common elements."""
    reads = min(sum(map(_most_reads, pieces)), _most_reads(m))
    matched = _match(pieces, element_bytes, output_bytes)
    return Relation(sum(map(_n_pairs, pieces)), reads, most_readers, element_bytes, matched)


def least_bytes(by_operand: Sequence[Sequence[Relation]], output_bytes: Fraction) -> int:
    """The bytes that a device must receive: elements that it reads, or output elements of ``output_bytes`` each.

    ``by_operand`` has a relation for each map to an array.
    """
    best = Fraction(0)
    # Pairs of different arrays are disjoint.
    largest = [max(own, key=lambda one: one.n_pairs) for own in by_operand if own]
    for chosen in [*([one] for own in by_operand for one in own), largest]:
        reads = sum(one.most_reads for one in chosen)
        if not reads:
            continue
        each = min(min(one.element_bytes / max(1, one.most_readers) for one in chosen), output_bytes / reads)
        found = max(each * sum(one.n_pairs for one in chosen), *(one.matched for one in chosen))
        best = max(best, _whole(found, [output_bytes, *(one.element_bytes for one in chosen)]))
    return ceil(best)


def _whole(n_bytes: Fraction, sizes: Sequence[Fraction]) -> Fraction:
    """The next sum of element sizes, or a smaller bound.

    >>> _whole(Fraction(5), [Fraction(4), Fraction(2)]), _whole(Fraction(1, 4), [Fraction(4), Fraction(1, 2)])
    (Fraction(6, 1), Fraction(1, 2))
    """
    n = reduce(lambda a, b: a * b // gcd(a, b), (size.denominator for size in sizes))
    unit = Fraction(gcd(*(int(size * n) for size in sizes)), n)
    return max(ceil(n_bytes / unit) * unit, min(sizes)) if n_bytes else n_bytes


# ------------------------------------------------------------------------------------------------------------ matching


@dataclass(frozen=True)
class _Matched:
    """Matched pairs: their outputs and elements, and the bytes of the pairs of one output."""

    piece: int
    outputs: Box
    elements: Box
    load: Fraction


def _match(pieces: Sequence[IndexingMap], element_bytes: Fraction, output_bytes: Fraction) -> Fraction:
    """The bytes of a matching of outputs with elements, piece by piece, each with outputs that have bytes left."""
    total = Fraction(0)
    taken: list[_Matched] = []
    by_size = sorted(enumerate(pieces), key=lambda item: -_n_pairs(item[1]))
    # If the outermost tap leaves the array, some outputs lack only elements of another tap: try a second round.
    for number, piece in (item for item in by_size for _ in range(2)):
        narrow = _narrow(piece)
        each, load = _load(narrow, element_bytes, output_bytes)
        left = _box_of(piece)
        for other in taken:
            used = sum(one.load for one in taken if _overlap(one.outputs, other.outputs))
            if used + load > output_bytes:
                left = _cut(left, other.outputs)
        if any(a >= b for a, b in left):
            continue
        if left != _box_of(piece):
            narrow = _narrow(_within(piece, left))
            each, load = _load(narrow, element_bytes, output_bytes)
        n = _n_pairs(narrow)
        elements = [(lower, upper + 1) for lower, upper in map(narrow.bounds, range(len(narrow.results)))] if n else []
        if n and not any(one.piece == number and _overlap(one.elements, elements) for one in taken):
            total += each * n
            taken.append(_Matched(number, _box_of(narrow), elements, load))
    return total


def _load(piece: IndexingMap, element_bytes: Fraction, output_bytes: Fraction) -> tuple[Fraction, Fraction]:
    """The bytes of each pair, and of all pairs of one output."""
    reads = _most_reads(piece)
    each = min(element_bytes / _most_readers(piece), output_bytes / reads)
    return each, each * reads


def _cut(box: Box, other: Box) -> Box:
    """The largest part of a box that does not meet another box."""
    if not _overlap(box, other):
        return box
    parts = []
    for i, ((a, b), (c, d)) in enumerate(zip(box, other, strict=True)):
        parts += [[*box[:i], side, *box[i + 1 :]] for side in ((a, min(b, c)), (max(a, d), b))]
    return max(parts, key=lambda part: prod(max(0, b - a) for a, b in part), default=[(0, 0)])


def _overlap(box: Box, other: Box) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(box, other, strict=True))


def _box_of(piece: IndexingMap) -> Box:
    return [(v.lower, v.upper + 1) for v in piece.dims]


def _narrow(piece: IndexingMap) -> IndexingMap:
    """The piece with one value for each range that a result adds to a dim: the value with the most pairs.

    All outputs of a window lack the element of its outermost tap, and these elements are distinct.
    """
    for number in _taps(piece):
        v = piece.ranges[number]
        lower, upper = v.lower, v.upper
        at = {t: _at_tap(piece, number, t) for t in {lower, upper}}
        # The number of pairs rises up to some tap, and falls after it.
        while upper - lower > 1:
            middle = (lower + upper) // 2
            at |= {t: _at_tap(piece, number, t) for t in (middle, middle + 1)}
            if _n_pairs(at[middle]) < _n_pairs(at[middle + 1]):
                lower = middle + 1
            else:
                upper = middle
        piece = max(at.values(), key=_n_pairs)
    return piece


def _taps(piece: IndexingMap) -> Iterator[int]:
    for number in range(len(piece.ranges)):
        uses = (variables_of(e) for e in piece.results)
        if any(("range", number) in used and any(kind == "dim" for kind, _ in used) for used in uses):
            yield number


def _at_tap(piece: IndexingMap, number: int, tap: int) -> IndexingMap:
    ranges = [(v.lower, v.upper) for v in piece.ranges]
    ranges[number] = (tap, tap)
    return _within(piece, _box_of(piece), ranges)


def _within(piece: IndexingMap, box: Box, ranges: Sequence[tuple[int, int]] | None = None) -> IndexingMap:
    """The piece with the dims of a box."""
    own = piece.ranges if ranges is None else ranges
    dims = [(a, b - 1) for a, b in box]
    found = IndexingMap(dims, piece.results, ranges=own, runtime=piece.runtime, constraints=piece.constraints)
    return found.simplify(keep_point_dims=True)


# ------------------------------------------------------------------------------------------------------------- degrees


def _n_pairs(piece: IndexingMap) -> int:
    """The least number of pairs of a point and an element."""
    return with_dims(piece, len(piece.dims)).count(distinct=True).lower


def _most_reads(m: IndexingMap) -> int:
    """The most elements that one point of the dims reaches."""
    return min(prod(v.upper - v.lower + 1 for v in m.ranges), extents(m, None))


def _most_readers(piece: IndexingMap) -> int:
    """The most points that reach one element: points that differ in dims that the element does not determine."""
    told = {_dim_told_by(e, piece) for e in piece.results}
    return prod(v.upper - v.lower + 1 for i, v in enumerate(piece.dims) if i not in told)


def _dim_told_by(e: Expr, piece: IndexingMap) -> int | None:
    """The dim that a result determines, as a multiple of the dim plus a constant; None for other results."""
    used = variables_of(e)
    if len(used) != 1 or used[0][0] != "dim":
        return None
    i = used[0][1]
    first = piece.dims[i].lower
    values = [e.substitute(dims=[Expr.constant(d)] * (i + 1)) for d in (first, first + 1)]
    step = values[1] - values[0]
    is_linear = step.kind == "constant" and (e - Expr.dim(i) * step).kind == "constant"
    return i if is_linear and step != Expr.constant(0) else None


def extents(m: IndexingMap, box: Box | None) -> int:
    """The product of the extents of all results that depend on ranges; with a box, of the box."""
    if not m.ranges:
        return 1
    n = 1
    at_first = [Expr.constant(v.lower) for v in m.ranges]
    for k, result in enumerate(m.results):
        if result.substitute(ranges=at_first) != result:
            lower, upper = m.bounds(k)
            n *= upper - lower + 1 if box is None else box[k][1] - box[k][0]
    return n
