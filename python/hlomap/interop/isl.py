"""Writes indexing maps as relations in the notation of isl, the integer set library.

:func:`to_isl` does not need isl: ``islpy.Map(m.to_isl())`` is the object.  The notation is described in the
isl manual, section "Input and Output" (https://libisl.sourceforge.io/manual.pdf).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .._core import Expr, IndexingMap
from ..errors import UnsupportedError
from ._expressions import (
    Part,
    expect_defined,
    names,
    nodes,
    shortened,
    sum_parts,
    text,
    unused_name,
    variables,
)

_KEYWORDS = frozenset(
    {"and", "or", "not", "implies", "exists", "true", "false"}
    | {"floor", "floord", "ceil", "ceild", "mod", "min", "max", "infty", "infinity", "nan", "rat"}
)
"""The words that cannot be names, in lower or upper case."""


def to_isl(m: IndexingMap) -> str:
    """The relation from dims to results, as text; see :meth:`hlomap.IndexingMap.to_isl`.

    >>> print(to_isl(IndexingMap([32], [Expr.dim(0) // 8 + Expr.range(0), Expr.dim(0) % 8], ranges=[3])))
    { [d0] -> [o0, (d0 mod 8)] : 0 <= d0 <= 31 and exists (s0: 0 <= s0 <= 2 and o0 = floor(d0/8) + s0) }
    """
    expect_defined(m)
    name = names(m, lambda word: word.lower() in _KEYWORDS)

    def write(expr: Expr) -> str:
        return text(expr, lambda node: _parts(node, name))

    outputs, equations, n_named = _outputs(m, name, write)
    hidden = {Expr.range(i) for i in range(n_named, len(m.ranges))}
    bounds = {e: _within(name[e], variable.lower, variable.upper) for e, variable in variables(m)}
    outer = [bound for e, bound in bounds.items() if e not in hidden]
    inner = [bound for e, bound in bounds.items() if e in hidden]
    inner += [_within(write(c.expr), c.lower, c.upper) for c in m.constraints] + equations
    if m.is_known_empty:
        outer, inner = [], ["false"]
    if hidden:
        quantified = ", ".join(name[e] for e in bounds if e in hidden)
        inner = [f"exists ({quantified}: {' and '.join(inner)})"]
    formula = " and ".join(outer + inner)
    parameters = ", ".join(name[Expr.runtime(i)] for i in range(len(m.runtime)))
    dims = ", ".join(name[Expr.dim(i)] for i in range(len(m.dims)))
    return (
        (f"[{parameters}] -> " if parameters else "")
        + f"{{ [{dims}] -> [{', '.join(outputs)}]"
        + (f" : {formula} }}" if formula else " }")
    )


def _outputs(
    m: IndexingMap, name: Mapping[Expr, str], write: Callable[[Expr], str]
) -> tuple[list[str], list[str], int]:
    """The output tuple, the equations of its new names, and the number of range variables that it names.

    A result that is exactly the next range variable names that variable.  Any other result with a range variable that
    has no name yet gets a new name and an equation.
    """
    outputs: list[str] = []
    equations: list[str] = []
    taken = set(name.values())
    n_named = 0
    for i, result in enumerate(m.results):
        if result == Expr.range(n_named):
            outputs.append(name[result])
            n_named += 1
        elif any(e.kind == "range" and e.value is not None and e.value >= n_named for e in nodes([result])):
            output = unused_name(f"o{i}", taken)
            outputs.append(output)
            equations.append(f"{output} = {write(result)}")
        else:
            outputs.append(write(result))
    return outputs, equations, n_named


def _within(expr: str, lower: int, upper: int) -> str:
    return f"{expr} = {lower}" if lower == upper else f"{lower} <= {expr} <= {upper}"


def _parts(e: Expr, name: Mapping[Expr, str]) -> list[Part]:
    if e in name:
        return [name[e]]
    if e.kind in ("min", "max"):
        a, b = e.operands
        return [f"{e.kind}(", a, ", ", b, ")"]
    if e.kind in ("floordiv", "mod"):
        a, divisor = e.operands
        if divisor.kind != "constant":
            raise UnsupportedError(f"isl has no counterpart of {shortened(e)}: the divisor is not a constant")
        dividend: list[Part] = ["(", a, ")"] if a.kind in ("sum", "product") else [a]
        if e.kind == "floordiv":
            return ["floor(", *dividend, f"/{divisor.value})"]
        return ["(", *dividend, f" mod {divisor.value})"]
    if e.kind == "product" and e.operands[1].kind != "constant":
        raise UnsupportedError(f"isl has no counterpart of {shortened(e)}: a product without a constant factor")
    return sum_parts(e, lambda factor, atom: [f"{factor}*", atom])
