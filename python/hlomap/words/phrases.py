"""Words for maps: ``x[j, i]``, ``x[i, 2:5] (3 elements)``, ``all of x (8 elements)``.

:func:`phrase` is the entry point.  Subscripts are as in NumPy: an index, or ``start:stop:step``.  A phrase names
exactly the elements of the map; a range that cannot be written as a slice is printed with its bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from .._core import Constraint, Expr, IndexingMap, Shape
from ..base.text import joined, plural
from ..maps.variables import numbers_of
from .names import NamedMap

_MAX_PHRASES = 4


class _Subscript(NamedTuple):
    """The elements of one dimension."""

    text: str
    kind: str  # "point", "whole", "slice" or "range"


def phrase(m: NamedMap, label: str, sizes: tuple[int, ...]) -> str:
    """The elements that one map reads for an element of the output, in words.

    >>> m = IndexingMap.parse("(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 7], d1 in [0, 4], s0 in [0, 15]")
    >>> from hlomap.words.names import Names
    >>> phrase(Names(("i", "j")).of(m, 0), "x", (8, 16))
    'x[i, :] (16 elements)'
    """
    if m.map.is_undefined:
        return f"any elements of {label}"
    if len(m.map.results) != len(sizes):
        return f"{label} by {m}"
    free = _free_ranges(m.map) if m.ranges else {}
    limited = _limited_ranges(m.map) if len(free) < len(m.ranges) and m.map.constraints else {}
    parts = [
        _limited_subscript(m, limited[k]) if k in limited else _subscript(m, e, size, free.get(k))
        for k, (e, size) in enumerate(zip(m.map.results, sizes, strict=True))
    ]
    written = {one.number for one in free.values()} | {one.number for one in limited.values()}
    conditions = _conditions(m, written, {one.constraint for one in limited.values()})
    return _elements(m.map, label, parts, len(free)) + conditions


def phrases(maps: Sequence[NamedMap], label: str, shape: Shape) -> str:
    """The elements that a union of maps reads from an array, in words."""
    found = [phrase(m, label, shape.dimensions) for m in maps[:_MAX_PHRASES]]
    if len(maps) > _MAX_PHRASES:
        found.append(f"{len(maps) - _MAX_PHRASES} more")
    return clauses(dict.fromkeys(found))


def clauses(parts: Iterable[str]) -> str:
    """A list of phrases, separated so that a condition does not run into the next phrase."""
    found = list(parts)
    return (
        "; ".join(found)
        if len(found) > 1 and any(" where " in part or "; " in part for part in found)
        else joined(found)
    )


def _elements(m: IndexingMap, label: str, parts: list[_Subscript], n_free: int) -> str:
    """The elements that a point reads, and their number, an upper bound unless all ranges are free."""
    if not parts:
        return label
    kinds = {part.kind for part in parts}
    elements = f"all of {label}" if kinds == {"whole"} else f"{label}[{', '.join(part.text for part in parts)}]"
    n = prod(v.upper - v.lower + 1 for v in m.ranges)
    # Constraints do not contain free ranges.
    number = f" ({'' if n_free == len(m.ranges) else 'at most '}{plural(n, 'element')})"
    return elements + number * (kinds != {"point"})


def _conditions(m: NamedMap, free: set[int], written: set[int]) -> str:
    """The conditions on the output element, and on ranges that are not slices; without constraints of slices."""
    dims = [(f"d{k}", v.lower, v.upper) for k, v in enumerate(m.dims)]
    found: list[tuple[Expr | str, int, int]] = []
    found += [one for k, one in enumerate(dims) if m.names.bounds(k) not in (None, one[1:])]
    found += [(f"s{k}", v.lower, v.upper) for k, v in enumerate(m.ranges) if k not in free]
    found += [(c.expr, c.lower, c.upper) for k, c in enumerate(m.map.constraints) if k not in written]
    shown = [f"{m.text(e)} {f'= {lower}' if lower == upper else f'in [{lower}, {upper}]'}" for e, lower, upper in found]
    return f" where {' and '.join(shown)}" if shown else ""


def _subscript(m: NamedMap, e: Expr, size: int, free: _FreeRange | None) -> _Subscript:
    if free is None:
        return _Subscript(m.text(e), "range" if m.ranges and numbers_of(e, "range") else "point")
    variable, step = m.ranges[free.number], free.step
    first, last = sorted((step * variable.lower, step * variable.upper))
    n = variable.upper - variable.lower + 1
    start, stop = free.rest + first, free.rest + (last + 1)
    if n == 1:
        return _Subscript(m.text(start), "point")
    if n == size and start == Expr.constant(0) and abs(step) == 1:
        return _Subscript(":", "whole")
    suffix = f":{abs(step)}" if abs(step) != 1 else ""
    return _Subscript(f"{m.text(start)}:{m.text(stop)}{suffix}", "slice")


class _FreeRange(NamedTuple):
    """A range that becomes a slice: it occurs in one result, linearly and as the only such range, and in no
    constraint."""

    number: int
    #: The rest of its result.
    rest: Expr
    #: Its factor.
    step: int


def _free_ranges(m: IndexingMap) -> dict[int, _FreeRange]:
    """The ranges that become slices, by the number of the result."""
    results = m.results
    used = [numbers_of(e, "range") for e in results]
    n_uses = Counter(
        number for numbers in (*used, *(numbers_of(c.expr, "range") for c in m.constraints)) for number in numbers
    )
    found: dict[int, _FreeRange] = {}
    for k, (e, numbers) in enumerate(zip(results, used, strict=True)):
        if len(numbers) != 1 or n_uses[numbers[0]] != 1:
            continue
        split = _split(e, numbers[0])
        if split is not None:
            found[k] = split
    return found


class _LimitedRange(NamedTuple):
    """A range that becomes a slice within the bounds of one constraint, as in a scan: ``x[0:i + 1]``."""

    number: int
    constraint: int
    #: The first index, and the one after the last; the slice is never reversed.
    start: Expr
    stop: Expr


def _limited_ranges(m: IndexingMap) -> dict[int, _LimitedRange]:
    """The ranges that one constraint limits to a slice, by the number of the result."""
    constraints = m.constraints
    n_uses = Counter(number for e in m.results for number in numbers_of(e, "range"))
    inside: dict[int, list[int]] = {}
    for k, c in enumerate(constraints):
        for number in numbers_of(c.expr, "range"):
            inside.setdefault(number, []).append(k)
    found: dict[int, _LimitedRange] = {}
    for place, e in enumerate(m.results):
        numbers = numbers_of(e, "range")
        if len(numbers) == 1 and n_uses[numbers[0]] == 1 and len(inside.get(numbers[0], ())) == 1:
            (k,) = inside[numbers[0]]
            limits = _limits(m, e, numbers[0], constraints[k])
            if limits is not None:
                found[place] = _LimitedRange(numbers[0], k, *limits)
    return found


def _limits(m: IndexingMap, e: Expr, number: int, c: Constraint) -> tuple[Expr, Expr] | None:
    """The start and stop of the indices ``e``; None if neither limit is always the tighter one.

    With ``e = rest + step * r`` and the constraint on ``other + factor * r``, for a step and a factor of 1 or -1, the
    constraint is one on ``turn * e + (other - turn * rest)``.
    """
    own, constrained = _split(e, number), _split(c.expr, number)
    if own is None or constrained is None or abs(own.step) != 1 or abs(constrained.step) != 1:
        return None
    rest, other = own.rest, constrained.rest
    if any(numbers_of(part, kind) for part in (rest, other) for kind in ("range", "runtime")):
        return None
    variable, turn = m.ranges[number], own.step * constrained.step
    first, last = sorted((own.step * variable.lower, own.step * variable.upper))
    shift = other - rest * turn
    low, high = (c.lower - shift, c.upper - shift) if turn > 0 else (shift - c.upper, shift - c.lower)
    start = _larger(m, rest + first, low, 1)
    stop = _larger(m, rest + (last + 1), high + 1, -1)
    if start is None or stop is None:
        return None
    return (start, stop) if _bounds(m, start)[0] >= 0 and _bounds(m, stop - start)[0] >= 0 else None


def _larger(m: IndexingMap, a: Expr, b: Expr, sign: int) -> Expr | None:
    """The larger one of two expressions, for a sign of -1 the smaller one; None if that varies."""
    least, most = _bounds(m, (a - b) * sign)
    larger = a if least >= 0 else b if most <= 0 else None
    return None if larger is None else _simple(m, larger).results[0]


def _bounds(m: IndexingMap, e: Expr) -> tuple[int, int]:
    """Bounds of an expression over the dimensions of a map, whatever its constraints."""
    return _simple(m, e).bounds(0)


def _simple(m: IndexingMap, e: Expr) -> IndexingMap:
    return IndexingMap(m.dims, [e]).simplify(keep_point_dims=True)


def _limited_subscript(m: NamedMap, found: _LimitedRange) -> _Subscript:
    return _Subscript(f"{m.text(found.start)}:{m.text(found.stop)}", "slice")


def _split(e: Expr, number: int) -> _FreeRange | None:
    """A sum with the range in exactly one term, split into that term and the rest."""
    terms = e.operands if e.kind == "sum" else (e,)
    using = [term for term in terms if numbers_of(term, "range")]
    step = _factor(using[0], Expr.range(number)) if len(using) == 1 else 0
    rest = sum((term for term in terms if term != using[0]), Expr.constant(0))
    return _FreeRange(number, rest, step) if step else None


def _factor(term: Expr, variable: Expr) -> int:
    """The factor of a variable if a term is a multiple of it, else 0."""
    if term == variable:
        return 1
    if term.kind == "product" and term.operands[0] == variable and term.operands[1].kind == "constant":
        return term.operands[1].value or 0  # a constant is on the right
    return 0
