"""Indexing maps as SymPy expressions.  The functions import sympy, an optional package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._core import Expr, IndexingMap
from ..base.types import needs
from ._expressions import expect_defined, nodes, variables

if TYPE_CHECKING:
    import sympy
    from sympy.logic.boolalg import Boolean


@dataclass(frozen=True)
class SympyMap:
    """An indexing map as SymPy objects.

    The variables are integer symbols without further assumptions: a nonnegative symbol would turn the condition
    ``d0 >= 0`` into ``True``.  ``floor``, ``Mod``, ``Min``, ``Max`` and the conditions are unevaluated, since
    evaluation is slow if they nest; ``.doit()`` or a substitution evaluates them.

    >>> m = to_sympy(IndexingMap([32], [Expr.dim(0) // 8, Expr.dim(0) % 8]))
    >>> m.results, m.conditions
    ((floor(d0/8), Mod(d0, 8)), (d0 >= 0, d0 <= 31))
    >>> [result.subs(m.dims[0], 13) for result in m.results]
    [1, 5]
    """

    dims: tuple[sympy.Symbol, ...]
    ranges: tuple[sympy.Symbol, ...]
    runtime: tuple[sympy.Symbol, ...]
    results: tuple[sympy.Expr, ...]
    conditions: tuple[Boolean, ...]
    """The domain: bounds of the variables, then of other expressions."""

    @property
    def variables(self) -> tuple[sympy.Symbol, ...]:
        """Dims, ranges and runtime variables, in this order."""
        return self.dims + self.ranges + self.runtime


def to_sympy(m: IndexingMap) -> SympyMap:
    """The map as SymPy objects; see :meth:`hlomap.IndexingMap.to_sympy`."""
    with needs("sympy", "hm.IndexingMap.to_sympy"):
        import sympy
    expect_defined(m)
    symbols = {e: sympy.Symbol(variable.name, integer=True) for e, variable in variables(m)}
    known = _converted([*m.results, *(c.expr for c in m.constraints)], symbols)
    intervals = [(e, variable.lower, variable.upper) for e, variable in variables(m)]
    conditions: list[Any] = [sympy.false] if m.is_known_empty else []
    for e, lower, upper in [] if m.is_known_empty else intervals + [(c.expr, c.lower, c.upper) for c in m.constraints]:
        if lower == upper:
            conditions.append(sympy.Eq(known[e], lower, evaluate=False))
        else:
            conditions += [sympy.Ge(known[e], lower, evaluate=False), sympy.Le(known[e], upper, evaluate=False)]
    return SympyMap(
        dims=tuple(symbols[Expr.dim(i)] for i in range(len(m.dims))),
        ranges=tuple(symbols[Expr.range(i)] for i in range(len(m.ranges))),
        runtime=tuple(symbols[Expr.runtime(i)] for i in range(len(m.runtime))),
        results=tuple(known[e] for e in m.results),
        conditions=tuple(conditions),
    )


def _converted(exprs: list[Expr], symbols: dict[Expr, sympy.Symbol]) -> dict[Expr, Any]:
    """All nodes of the expressions as SymPy objects."""
    import sympy

    known: dict[Expr, Any] = dict(symbols)
    for e in nodes(exprs):
        operands = [known[operand] for operand in e.operands]
        if e.kind in ("sum", "product"):
            known[e] = (sympy.Add if e.kind == "sum" else sympy.Mul)(*operands)
        elif e.kind == "constant":
            known[e] = sympy.Integer(e.value)
        elif e.kind == "floordiv":
            dividend, divisor = operands
            quotient = sympy.Mul(sympy.Pow(divisor, -1), dividend, evaluate=False)
            known[e] = sympy.floor(quotient, evaluate=False)
        elif e not in known:
            function = {"mod": sympy.Mod, "min": sympy.Min, "max": sympy.Max}[e.kind]
            known[e] = function(*operands, evaluate=False)
    return known
