"""Words for maps: ``x[j, i]``, ``x[i, 2:5] (3 elements)``, ``all of x (8 elements)``.

:func:`phrase` is the entry point.  Subscripts are as in NumPy: an index, or ``start:stop:step``.  A phrase names
exactly the elements of the map; a range that cannot be written as a slice is printed with its bounds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from .._core import Expr, IndexingMap, Shape
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
    parts = [_subscript(m, e, size, free.get(k)) for k, (e, size) in enumerate(zip(m.map.results, sizes, strict=True))]
    return _elements(m.map, label, parts, len(free)) + _conditions(m, {one.number for one in free.values()})


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


def _conditions(m: NamedMap, free: set[int]) -> str:
    """The conditions on the output element, and on ranges that are not slices."""
    dims = [(f"d{k}", v.lower, v.upper) for k, v in enumerate(m.dims)]
    found: list[tuple[Expr | str, int, int]] = []
    found += [one for k, one in enumerate(dims) if m.names.bounds(k) not in (None, one[1:])]
    found += [(f"s{k}", v.lower, v.upper) for k, v in enumerate(m.ranges) if k not in free]
    found += [(c.expr, c.lower, c.upper) for c in m.map.constraints]
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
