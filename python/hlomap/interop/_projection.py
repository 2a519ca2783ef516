"""Bounds of a variable that follow from several conditions together, by Fourier-Motzkin elimination.

Read :func:`project`.  Law: no point that meets the conditions is lost.  Quotients, remainders, minima and maxima count
as variables, for which inequalities hold, so the bounds are not always the tightest.
Source: A. Schrijver, Theory of Linear and Integer Programming (1986), section 12.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from math import gcd
from typing import TypeAlias

from .._core import Expr
from ._expressions import multiple, summands
from ._intervals import ALL, Interval

__all__ = ["project"]

_Row: TypeAlias = "dict[Expr | None, int]"
"""The inequality: the sum of all ``factor * atom`` is at least 0.  The atom ``None`` stands for 1."""

# Elimination squares the number of inequalities at worst.
_MAX_ROWS = 300


def project(conditions: Mapping[Expr, Interval], variable: Expr) -> Interval:
    """An interval of a variable that follows from intervals of expressions; all integers where the search gives up."""
    rows = _strongest(_rows(conditions))
    while atoms := {atom: None for row in rows for atom in row if atom not in (variable, None)}:
        atom = min(atoms, key=lambda atom: _n_combinations(rows, atom))
        if len(rows) + _n_combinations(rows, atom) > _MAX_ROWS:
            return ALL
        above = [row for row in rows if row.get(atom, 0) > 0]
        below = [row for row in rows if row.get(atom, 0) < 0]
        others = [row for row in rows if atom not in row]
        rows = _strongest(others + [_without(atom, a, b) for a, b in product(above, below)])
    found = ALL
    for row in rows:
        found = found.intersect(Interval(-row.get(None, 0), None).quotients(row[variable]))
    return found


def _n_combinations(rows: list[_Row], atom: Expr | None) -> int:
    signs = [row[atom] > 0 for row in rows if atom in row]
    return sum(signs) * (len(signs) - sum(signs))


def _without(atom: Expr | None, above: _Row, below: _Row) -> _Row:
    """The sum of positive multiples of two inequalities in which an atom cancels."""
    return _sum(_multiple(above, -below[atom]), _multiple(below, above[atom]))


def _sum(a: _Row, b: _Row) -> _Row:
    found = {atom: a.get(atom, 0) + b.get(atom, 0) for atom in a | b}
    return {atom: factor for atom, factor in found.items() if factor}


def _multiple(row: _Row, factor: int) -> _Row:
    return {atom: factor * own for atom, own in row.items()}


def _strongest(rows: Iterable[_Row]) -> list[_Row]:
    """The inequalities on atoms with factors prime to each other; of those that differ in the constant, the strongest.

    Rounding the constant down keeps all integer points.
    """
    found: dict[frozenset[tuple[Expr | None, int]], _Row] = {}
    for row in rows:
        divisor = gcd(*(factor for atom, factor in row.items() if atom is not None))
        if divisor:
            reduced = {atom: factor // divisor for atom, factor in row.items()}
            key = frozenset((atom, factor) for atom, factor in reduced.items() if atom is not None)
            if key not in found or reduced.get(None, 0) < found[key].get(None, 0):
                found[key] = reduced
    return list(found.values())


def _rows(conditions: Mapping[Expr, Interval]) -> list[_Row]:
    """The inequalities of the conditions, and those that hold for the atoms in them."""
    rows: list[_Row] = []
    for e, interval in conditions.items():
        rows += _bounded(_row(e), interval)
    seen: set[Expr | None] = set()
    i = 0
    while i < len(rows) <= _MAX_ROWS:
        for atom in rows[i]:
            if atom is not None and atom not in seen:
                seen.add(atom)
                rows += _of_atom(atom)
        i += 1
    return rows


def _row(e: Expr) -> _Row:
    """The value of an expression."""
    row: _Row = {}
    for summand in summands(e):
        factor, atom = multiple(summand)
        row = _sum(row, {atom: factor})
    return row


def _bounded(row: _Row, interval: Interval) -> list[_Row]:
    """The inequalities of the condition that a value lies in an interval."""
    lower = [] if interval.lower is None else [_sum(row, {None: -interval.lower})]
    upper = [] if interval.upper is None else [_sum(_multiple(row, -1), {None: interval.upper})]
    return lower + upper


def _of_atom(atom: Expr) -> list[_Row]:
    """Inequalities that hold for any value of an atom."""
    if len(atom.operands) != 2:
        return []
    a, b = atom.operands
    own: _Row = {atom: 1}
    if atom.kind in ("min", "max"):
        sign = 1 if atom.kind == "min" else -1
        return [_multiple(_sum(_row(operand), {atom: -1}), sign) for operand in (a, b)]
    if atom.kind not in ("floordiv", "mod") or b.kind != "constant" or b.value is None:
        return []
    if atom.kind == "mod":
        return _bounded(own, Interval(0, b.value - 1))
    return _bounded(_sum(_row(a), {atom: -b.value}), Interval(0, b.value - 1))
