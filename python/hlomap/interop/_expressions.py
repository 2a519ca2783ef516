"""Texts of expressions in other notations, shared by the bridges of indexing maps.

:func:`text` writes an expression from the :data:`Part` list of each node.  It does not recurse, so no expression is too
deep.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TypeAlias

from .._core import Expr, IndexingMap, Variable
from ..base.text import cut
from ..errors import MapError

Part: TypeAlias = "str | Expr"


def expect_defined(m: IndexingMap) -> None:
    """Raises :class:`~hlomap.errors.MapError` for a map that is undefined or has too many nodes to print."""
    if m.is_undefined:
        raise MapError("the map is undefined")
    str(m)


def variables(m: IndexingMap) -> list[tuple[Expr, Variable]]:
    """The variables of a map, each as an expression and as its record: dims, ranges, runtime variables."""
    kinds = ((Expr.dim, m.dims), (Expr.range, m.ranges), (Expr.runtime, m.runtime))
    return [(make(i), variable) for make, of_kind in kinds for i, variable in enumerate(of_kind)]


def names(m: IndexingMap, is_reserved: Callable[[str], bool]) -> dict[Expr, str]:
    """The names of the variables, with an underscore after names that the notation reserves."""
    found: dict[Expr, str] = {}
    taken = {variable.name for _, variable in variables(m)}
    for expr, variable in variables(m):
        name = variable.name
        if is_reserved(name):
            name = unused_name(name + "_", taken)
            taken.add(name)
        found[expr] = name
    return found


def unused_name(name: str, taken: Container[str]) -> str:
    """The name with as many underscores at its end as make it unused."""
    while name in taken:
        name += "_"
    return name


def nodes(exprs: Iterable[Expr]) -> Iterator[Expr]:
    """The nodes of expressions, each once, after its operands."""
    seen: set[Expr] = set()
    stack = list(exprs)
    while stack:
        e = stack[-1]
        if new := [operand for operand in e.operands if operand not in seen]:
            stack += new
        elif stack.pop() not in seen:
            seen.add(e)
            yield e


def shortened(expr: Expr) -> str:
    """The expression for a message."""
    return cut(str(expr), 100)


def summands(expr: Expr) -> tuple[Expr, ...]:
    """The summands of an expression: the expression itself if it is not a sum."""
    return expr.operands if expr.kind == "sum" else (expr,)


def multiple(expr: Expr) -> tuple[int, Expr | None]:
    """A summand as ``factor * atom``; a constant has no atom.

    >>> multiple(Expr.dim(0) * -3), multiple(Expr.constant(7))
    ((-3, Expr('d0')), (7, None))
    """
    if expr.kind == "product":
        atom, factor = expr.operands
        if factor.kind == "constant" and factor.value is not None:
            return factor.value, atom
    if expr.kind == "constant" and expr.value is not None:
        return expr.value, None
    return 1, expr


def sum_parts(expr: Expr, product: Callable[[str, Expr], Sequence[Part]]) -> list[Part]:
    """A sum, with signs between its summands; ``product`` writes a positive multiple of an atom."""
    parts: list[Part] = []
    for i, summand in enumerate(summands(expr)):
        factor, atom = multiple(summand)
        sign = ("-" if factor < 0 else "") if i == 0 else (" - " if factor < 0 else " + ")
        parts.append(sign)
        if atom is None:
            parts.append(str(abs(factor)))
        elif abs(factor) == 1:
            parts.append(atom)
        else:
            parts += product(str(abs(factor)), atom)
    return parts


def text(expr: Expr, parts: Callable[[Expr], Sequence[Part]]) -> str:
    """The text of an expression, given the texts and subexpressions that a node consists of."""
    out: list[str] = []
    stack: list[Part] = [expr]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            out.append(part)
        else:
            stack.extend(reversed(parts(part)))
    return "".join(out)
