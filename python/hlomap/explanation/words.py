"""Words for maps: ``row i of x whole``, ``x at (j, i)``, ``x[i, 2:5]``.

:func:`phrase` is the entry point.  A subscript is that of NumPy: an index, or ``start:stop:step``.  Invariant: the
phrase names exactly the elements of the map; a range that cannot be written as a slice is printed with its bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from .._core import Expr, IndexingMap, Shape
from .names import Names
from .text import joined, plural

__all__ = ["Subscript", "clauses", "elements_per_point", "phrase", "phrases", "subscripts"]

_MOST_PHRASES = 4


@dataclass(frozen=True)
class Subscript:
    """The elements of one dimension."""

    text: str
    kind: str  # "point", "whole", "slice" or "range"
    n: int = 1


def subscripts(m: IndexingMap, sizes: tuple[int, ...], names: Names, operand: int) -> list[Subscript]:
    """What a map reads in each dimension of an operand of these sizes."""
    free = _free_ranges(m)
    return [_subscript(e, size, m, names, operand, free) for e, size in zip(m.results, sizes, strict=True)]


def phrase(m: IndexingMap, label: str, sizes: tuple[int, ...], names: Names, operand: int) -> str:
    """The elements that one map reads, for an element of the output.

    >>> m = IndexingMap.parse("(d0, d1)[s0] -> (d0, s0), domain: d0 in [0, 7], d1 in [0, 4], s0 in [0, 15]")
    >>> phrase(m, "x", (8, 16), Names(("i", "j")), 0)
    'row i of x whole: 16 elements'
    """
    if m.is_undefined:
        return f"any elements of {label}"
    if len(m.results) != len(sizes):
        return f"{label} by {names.map_text(m, operand)}"
    return _elements(m, label, subscripts(m, sizes, names, operand)) + _conditions(m, names, operand)


def phrases(maps: Sequence[IndexingMap], label: str, shape: Shape, names: Names, operand: int) -> str:
    """The elements that a union of maps reads of an array."""
    found = [phrase(m, label, shape.dimensions, names, operand) for m in maps[:_MOST_PHRASES]]
    if len(maps) > _MOST_PHRASES:
        found.append(f"{len(maps) - _MOST_PHRASES} more")
    return clauses(dict.fromkeys(found))


def clauses(parts: Iterable[str]) -> str:
    """A list of phrases, in which conditions do not run into the next phrase."""
    found = list(parts)
    return (
        "; ".join(found)
        if len(found) > 1 and any(" where " in part or "; " in part for part in found)
        else joined(found)
    )


def elements_per_point(m: IndexingMap) -> tuple[int, bool]:
    """How many elements a point reads at most, and whether each point that reads anything reads so many."""
    n = prod(v.upper - v.lower + 1 for v in m.ranges)
    exact = len(_free_ranges(m)) == len(m.ranges) and not any(_has(c.expr, "range") for c in m.constraints)
    return n, exact


def _elements(m: IndexingMap, label: str, parts: list[Subscript]) -> str:
    n, exact = elements_per_point(m)
    number = f"{'' if exact else 'at most '}{plural(n, 'element')}"
    kinds = [part.kind for part in parts]
    if not parts:
        return label
    if all(kind == "point" for kind in kinds):
        index = ", ".join(part.text for part in parts)
        return f"{label} at {index}" if len(parts) == 1 else f"{label} at ({index})"
    if all(kind == "whole" for kind in kinds):
        return f"all of {label}: {number}"
    if kinds == ["point", "whole"]:
        return f"row {parts[0].text} of {label} whole: {number}"
    if kinds == ["whole", "point"]:
        return f"column {parts[1].text} of {label} whole: {number}"
    return f"{label}[{', '.join(part.text for part in parts)}]: {number}"


def _conditions(m: IndexingMap, names: Names, operand: int) -> str:
    """The conditions on the output's element, and on ranges that are not slices."""
    free = _free_ranges(m)
    dims = [(f"d{k}", v.lower, v.upper) for k, v in enumerate(m.dims)]
    found: list[tuple[Expr | str, int, int]] = []
    found += [one for k, one in enumerate(dims) if names.bounds(k) not in (None, one[1:])]
    found += [(f"s{k}", v.lower, v.upper) for k, v in enumerate(m.ranges) if k not in free]
    found += [(c.expr, c.lower, c.upper) for c in m.constraints]
    shown = [
        f"{names.text(e, m, operand)} {f'= {lower}' if lower == upper else f'in [{lower}, {upper}]'}"
        for e, lower, upper in found
    ]
    return f" where {' and '.join(shown)}" if shown else ""


def _subscript(
    e: Expr, size: int, m: IndexingMap, names: Names, operand: int, free: dict[int, tuple[Expr, int]]
) -> Subscript:
    number = next((k for k in free if _uses_range(e, k)), None)
    if number is None:
        return Subscript(names.text(e, m, operand), "range" if _has(e, "range") else "point")
    rest, step = free[number]
    variable = m.ranges[number]
    first, last = sorted((step * variable.lower, step * variable.upper))
    n = variable.upper - variable.lower + 1
    start, stop = rest + first, rest + (last + 1)
    if n == 1:
        return Subscript(names.text(start, m, operand), "point")
    if n == size and start == Expr.constant(0) and abs(step) == 1:
        return Subscript(":", "whole", n)
    suffix = f":{abs(step)}" if abs(step) != 1 else ""
    return Subscript(f"{names.text(start, m, operand)}:{names.text(stop, m, operand)}{suffix}", "slice", n)


def _free_ranges(m: IndexingMap) -> dict[int, tuple[Expr, int]]:
    """The ranges that make a slice: each is in one result, alone and linear there, and in no constraint.

    For each the rest of its result, and its factor.
    """
    found: dict[int, tuple[Expr, int]] = {}
    for number in range(len(m.ranges)):
        using = [e for e in m.results if _uses_range(e, number)]
        if len(using) != 1 or any(_uses_range(c.expr, number) for c in m.constraints):
            continue
        step = _factor(using[0], number)
        if step:
            zero = [Expr.range(k) for k in range(number)] + [0]
            rest = using[0].substitute(ranges=zero)
            if not _has(rest, "range"):
                found[number] = rest, step
    return found


def _factor(e: Expr, number: int) -> int:
    """The factor of a range in a sum where it is in one term alone; 0 where it is not."""
    terms = e.operands if e.kind == "sum" else (e,)
    using = [term for term in terms if _uses_range(term, number)]
    if len(using) != 1:
        return 0
    term, variable = using[0], Expr.range(number)
    if term == variable:
        return 1
    if term.kind == "product" and len(term.operands) == 2:
        first, second = term.operands
        if first == variable and second.kind == "constant":
            return second.value or 0
        if second == variable and first.kind == "constant":
            return first.value or 0
    return 0


def _uses_range(e: Expr, number: int) -> bool:
    return _any(e, "range", number)


def _has(e: Expr, kind: str) -> bool:
    return _any(e, kind, None)


def _any(e: Expr, kind: str, number: int | None) -> bool:
    """Whether a variable of a kind occurs."""
    pending, seen = [e], {e}
    while pending:
        here = pending.pop()
        if here.kind == kind and (number is None or here.value == number):
            return True
        new = [operand for operand in here.operands if operand not in seen]
        seen.update(new)
        pending += new
    return False
