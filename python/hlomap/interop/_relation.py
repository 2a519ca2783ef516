"""A relation between integer tuples, given by conditions on expressions, as an indexing map.

Read :class:`Relation`.  An indexing map has a finite range for every variable, so :meth:`Relation.to_map` derives
missing bounds from the conditions.  It also replaces the range variables that the conditions determine.  Law: the map
relates the same tuples.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from math import gcd
from typing import NamedTuple

from .._core import Constraint, Expr, IndexingMap, Variable
from ..errors import MapError, SizeError
from ._expressions import free_variables, multiple, shortened, split_constant, summands, unused_name
from ._intervals import ALL, Interval, propagate
from ._projection import project

__all__ = ["Relation", "UnboundedError"]


class UnboundedError(Exception):
    """A variable that the conditions do not bound."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Definition(NamedTuple):
    """A variable as an expression of the others, from one condition.

    ``remainder`` is what remains of the condition; the definition with a small ``factor`` of the variable is the
    simpler one.
    """

    condition: Expr
    value: Expr
    remainder: tuple[Expr, Interval] | None
    factor: int


@dataclass
class Relation:
    """Names of the variables of a map, its results, and the interval of each expression that is constrained.

    The expressions in ``conditions`` have no constant summand, and none is the multiple of another expression.
    """

    dims: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    runtime: list[str] = field(default_factory=list)
    results: list[Expr] = field(default_factory=list)
    conditions: dict[Expr, Interval] = field(default_factory=dict)
    is_empty: bool = False

    def add(self, expr: Expr, interval: Interval) -> None:
        """Adds the condition that the value of the expression lies in the interval."""
        expr, constant = split_constant(expr)
        interval = interval.plus(Interval(-constant, -constant))
        factor, atom = multiple(expr)
        if atom is None:
            self.is_empty |= not interval.contains(0)
            return
        if factor != 1:
            expr, interval = atom, interval.quotients(factor)
        elif -expr in self.conditions:
            expr, interval = -expr, interval.times(-1)
        interval = interval.intersect(self.conditions.get(expr, ALL))
        self.conditions[expr] = interval
        self.is_empty |= interval.is_empty

    def to_map(self) -> IndexingMap:
        """The map.

        Raises :class:`UnboundedError`, and :class:`~hlomap.errors.SizeError` for a bound that does not fit
        in 64 bits.
        """
        if not self.is_empty:
            self._eliminate()
        names = self._names()
        if self.is_empty:
            dims, ranges, runtime = ([Variable(name, 0, 0) for name in kind.values()] for kind in names)
            return IndexingMap(dims, [], ranges=ranges, runtime=runtime, constraints=[(0, 1, 1)])
        box = self._box()
        dims, ranges, runtime = ([_variable(name, box[e]) for e, name in kind.items()] for kind in names)
        of_box = IndexingMap(dims, [], ranges=ranges, runtime=runtime)
        constraints = [_constraint(e, interval, of_box) for e, interval in self.conditions.items() if e not in box]
        return IndexingMap(
            dims, self.results, ranges=ranges, runtime=runtime, constraints=[c for c in constraints if c is not None]
        )

    def _names(self) -> list[dict[Expr, str]]:
        """The names of the variables of each kind, as the map takes them: valid and distinct."""
        taken: set[str] = set()
        kinds = []
        for make, letter, given in (
            (Expr.dim, "d", self.dims),
            (Expr.range, "s", self.ranges),
            (Expr.runtime, "rt", self.runtime),
        ):
            kind = {}
            for i, name in enumerate(given):
                own = name if name not in taken and _is_name(name) else unused_name(f"{letter}{i}", taken)
                taken.add(own)
                kind[make(i)] = own
            kinds.append(kind)
        return kinds

    def _box(self) -> dict[Expr, Interval]:
        """The range of each variable: its own bounds, and derived ones where those are missing."""
        names = {Expr.dim(i): name for i, name in enumerate(self.dims)}
        names |= {Expr.range(i): name for i, name in enumerate(self.ranges)}
        names |= {Expr.runtime(i): name for i, name in enumerate(self.runtime)}
        box = {e: self.conditions.get(e, ALL) for e in names}
        derived = propagate(box, self.conditions)
        for e, own in box.items():
            bounds = derived[e] if derived[e].is_finite else derived[e].intersect(project(self.conditions | derived, e))
            lower = bounds.lower if own.lower is None else own.lower
            upper = bounds.upper if own.upper is None else own.upper
            if lower is None or upper is None:
                raise UnboundedError(names[e])
            derived[e] = box[e] = Interval(lower, upper)
        return box

    # ------------------------------------------------------------------------------------------------- elimination

    def _eliminate(self) -> None:
        """Replaces range variables that the conditions determine, first those without bounds of their own."""
        for has_bounds in (False, False, True):
            i = 0
            while i < len(self.ranges) and not self.is_empty:
                own = self.conditions.get(Expr.range(i), ALL)
                definitions = self._definitions(Expr.range(i), own) if own.is_finite == has_bounds else []
                replaced = None
                if definitions:
                    replaced = self._replaced(i, min(definitions, key=lambda d: (d.remainder is not None, d.factor)))
                if replaced is None:
                    i += 1
                else:
                    self.ranges, self.results = replaced.ranges, replaced.results
                    self.conditions, self.is_empty = replaced.conditions, replaced.is_empty

    def _definitions(self, variable: Expr, own: Interval) -> list[_Definition]:
        """The definitions of a variable, with these bounds of its own, by single conditions."""
        found = []
        for e, interval in self.conditions.items():
            with suppress(SizeError, MapError):  # of the definition, which nobody needs
                if definition := _by_residue(e, interval, variable, own) or _by_quotient(e, interval, variable):
                    found.append(definition)
        return found

    def _replaced(self, i: int, definition: _Definition) -> Relation | None:
        """The relation without a range variable, or None where an expression would become too large."""
        shifted = [Expr.range(j - (j > i)) for j in range(len(self.ranges))]
        new = Relation(self.dims, self.ranges[:i] + self.ranges[i + 1 :], self.runtime)
        try:
            value = definition.value.substitute(ranges=shifted)
            values = [*shifted[:i], value, *shifted[i + 1 :]]
            new.results = [e.substitute(ranges=values) for e in self.results]
            for e, interval in self.conditions.items():
                if e != definition.condition:
                    new.add(e.substitute(ranges=values), interval)
            if definition.remainder is not None:
                e, interval = definition.remainder
                new.add(e.substitute(ranges=shifted), interval)
        except (SizeError, MapError):
            return None
        return new


def _split(e: Expr, variable: Expr) -> tuple[int, Expr] | None:
    """The factor of a variable in an expression, and the rest, which does not contain the variable."""
    for summand in summands(e):
        factor, atom = multiple(summand)
        if atom == variable:
            rest = e - summand
            return None if variable in free_variables(rest) else (factor, rest)
    return None


def _by_quotient(e: Expr, interval: Interval, variable: Expr) -> _Definition | None:
    """lower <= k v + r <= upper  =  v = (upper - r) div k and (upper - r) mod k <= upper - lower

    for upper - lower < k.  A negative k is that of the negated condition.
    """
    found = _split(e, variable)
    if found is None or e == variable:
        return None
    factor, rest = found
    if factor < 0:
        factor, rest, interval = -factor, -rest, interval.times(-1)
    lower, upper = interval
    if lower is None or upper is None or upper - lower >= factor:
        return None
    dividend = upper - rest
    remainder = (dividend % factor, Interval(0, upper - lower)) if upper - lower + 1 < factor else None
    return _Definition(e, dividend // factor, remainder, factor)


def _by_residue(e: Expr, interval: Interval, variable: Expr, own: Interval) -> _Definition | None:
    """(k v + r) mod n = c with lower <= v < lower + n  =  v = lower + ((c - r) / k - lower) mod n

    for k prime to n and 0 <= c < n.
    """
    lower, upper = own
    n = e.operands[1].value if e.kind == "mod" else None
    if n is None or lower is None or upper is None or upper - lower >= n:
        return None
    residue = interval.lower
    if residue is None or residue != interval.upper or not 0 <= residue < n:
        return None
    found = _split(e.operands[0], variable)
    if found is None:
        return None
    factor, rest = found
    if gcd(factor, n) != 1:
        return None
    inverse = pow(factor, -1, n)
    inverse -= n if inverse > n // 2 else 0
    return _Definition(e, (inverse * (residue - rest) - lower) % n + lower, None, abs(factor))


# ------------------------------------------------------------------------------------------------------------ records


def _is_name(name: str) -> bool:
    """Whether a variable of a map can have the name."""
    try:
        IndexingMap([(name, 0, 0)], [])
    except MapError:
        return False
    return True


def _variable(name: str, interval: Interval) -> Variable:
    lower, upper = interval
    assert lower is not None and upper is not None, "the range of a variable is finite"
    if not (_fits(lower) and _fits(upper)):
        raise SizeError(f"the bounds [{lower}, {upper}] of {name} do not fit in 64 bits")
    return Variable(name, lower, upper)


def _constraint(e: Expr, interval: Interval, box: IndexingMap) -> Constraint | None:
    """The condition as a constraint on the variables of a map, or None where it always holds."""
    try:
        values = Interval(*box.bounds(e))
    except SizeError:
        values = ALL
    if interval.covers(values):
        return None
    inside = interval.intersect(values)
    lower, upper = (own if own is not None and _fits(own) else all_ for own, all_ in zip(interval, inside, strict=True))
    if lower is None or upper is None or not (_fits(lower) and _fits(upper)):
        raise SizeError(f"{shortened(e)} has no bounds of 64 bits")
    return Constraint(e, lower, upper)


def _fits(value: int) -> bool:
    return -(1 << 63) <= value < 1 << 63
