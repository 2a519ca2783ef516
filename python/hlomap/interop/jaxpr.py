"""Index functions written with ``jax.numpy`` and ``jax.lax``, as expressions: their jaxpr, operation by operation.

:func:`trace` needs no import of JAX before a function uses it.  Booleans are expressions with the values 0 and 1.
Integers are those of mathematics: an overflow of 32 bits is not modelled.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from .._core import Expr, IndexingMap, _set_traced

_FLOORED = {"floor_divide": operator.floordiv, "remainder": operator.mod}
"""The functions of ``jax.numpy`` behind ``//`` and ``%``, by the name of their call."""

_IN_FLOORED = frozenset(
    ["div", "sign", "rem", "ne", "eq", "lt", "and", "add", "sub", "select_n", "convert_element_type", "jit", "pjit"]
)
"""The primitives that these functions consist of for integers."""


class _NotAnIndexFunctionError(Exception):
    """The function does something that has no expression."""


def trace(f: Callable[..., Any], arguments: Sequence[Expr], domain: IndexingMap) -> list[Expr] | None:
    """The results of a function of the variables of a domain; None without JAX, or if they have no expressions."""
    if "jax" not in sys.modules:
        return None
    import jax

    scalar = jax.ShapeDtypeStruct((), "int32")
    before = _set_traced(False)
    try:
        closed = jax.make_jaxpr(lambda *given: tuple(_items(f(*given))))(*[scalar] * len(arguments))
        return _Reader(domain).read(closed.jaxpr, closed.consts, list(arguments))
    except Exception:
        return None  # the error of the function on expressions says more
    finally:
        _set_traced(before)


def _items(got: Any) -> Sequence[Any]:
    return got if isinstance(got, (tuple, list)) else (got,)


class _Reader:
    def __init__(self, domain: IndexingMap) -> None:
        self._domain = domain

    def read(self, jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Expr]) -> list[Expr]:
        values: dict[Any, Expr] = dict(zip(jaxpr.invars, arguments, strict=True))
        values.update((v, _constant(c)) for v, c in zip(jaxpr.constvars, consts, strict=True))

        def value(atom: Any) -> Expr:
            return _constant(atom.val) if hasattr(atom, "val") else values[atom]

        for equation in jaxpr.eqns:
            found = self._apply(equation, [value(v) for v in equation.invars])
            values.update(zip(equation.outvars, found, strict=True))
        return [value(v) for v in jaxpr.outvars]

    def _apply(self, equation: Any, given: list[Expr]) -> list[Expr]:
        name, parameters = equation.primitive.name, equation.params
        inner = parameters.get("jaxpr") or parameters.get("call_jaxpr")
        if inner is not None:
            floored = _FLOORED.get(parameters.get("name"))
            if floored is not None and {e.primitive.name for e in inner.jaxpr.eqns} <= _IN_FLOORED:
                return [floored(*given)]
            return self.read(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), given)
        for v in (*equation.invars, *equation.outvars):
            if v.aval.shape or v.aval.dtype.kind not in "iub":
                raise _NotAnIndexFunctionError
        is_bool = equation.outvars[0].aval.dtype.kind == "b"
        if name in ("not", "and", "or", "xor") and not is_bool:
            raise _NotAnIndexFunctionError
        operation = getattr(self, f"_{name}", None)
        if operation is None:
            raise _NotAnIndexFunctionError(name)
        return [self._known(operation(*given))]

    def _known(self, e: Expr) -> Expr:
        """A constant if the bounds say so."""
        lower, upper = self._domain.bounds(e)
        return Expr.constant(lower) if lower == upper else e

    def _is_negative(self, e: Expr) -> Expr:
        lower, upper = self._domain.bounds(e)
        if lower >= 0 or upper < 0:
            return Expr.constant(int(upper < 0))
        return Expr.minimum(Expr.maximum(-e, 0), 1)

    def _add(self, a: Expr, b: Expr) -> Expr:
        return a + b

    def _sub(self, a: Expr, b: Expr) -> Expr:
        return a - b

    def _mul(self, a: Expr, b: Expr) -> Expr:
        return a * b

    def _neg(self, a: Expr) -> Expr:
        return -a

    def _min(self, a: Expr, b: Expr) -> Expr:
        return Expr.minimum(a, b)

    def _max(self, a: Expr, b: Expr) -> Expr:
        return Expr.maximum(a, b)

    def _clamp(self, low: Expr, e: Expr, high: Expr) -> Expr:
        return Expr.minimum(Expr.maximum(e, low), high)

    def _abs(self, a: Expr) -> Expr:
        return Expr.maximum(a, -a)

    def _sign(self, a: Expr) -> Expr:
        return Expr.minimum(Expr.maximum(a, -1), 1)

    def _div(self, a: Expr, b: Expr) -> Expr:
        """Rounded toward zero."""
        if self._domain.bounds(b)[0] < 1:
            raise _NotAnIndexFunctionError
        if self._domain.bounds(a)[0] >= 0:
            return a // b
        return Expr.maximum(a, 0) // b - Expr.maximum(-a, 0) // b

    def _rem(self, a: Expr, b: Expr) -> Expr:
        """With the sign of the dividend."""
        if self._domain.bounds(a)[0] >= 0 and self._domain.bounds(b)[0] >= 1:
            return a % b
        return a - self._div(a, b) * b

    def _lt(self, a: Expr, b: Expr) -> Expr:
        return self._is_negative(a - b)

    def _gt(self, a: Expr, b: Expr) -> Expr:
        return self._is_negative(b - a)

    def _le(self, a: Expr, b: Expr) -> Expr:
        return 1 - self._gt(a, b)

    def _ge(self, a: Expr, b: Expr) -> Expr:
        return 1 - self._lt(a, b)

    def _ne(self, a: Expr, b: Expr) -> Expr:
        return Expr.minimum(self._abs(a - b), 1)

    def _eq(self, a: Expr, b: Expr) -> Expr:
        return 1 - self._ne(a, b)

    def _and(self, a: Expr, b: Expr) -> Expr:
        return Expr.minimum(a, b)

    def _or(self, a: Expr, b: Expr) -> Expr:
        return Expr.maximum(a, b)

    def _xor(self, a: Expr, b: Expr) -> Expr:
        return self._ne(a, b)

    def _not(self, a: Expr) -> Expr:
        return 1 - a

    def _convert_element_type(self, a: Expr) -> Expr:
        return a

    def _select_n(self, which: Expr, *cases: Expr) -> Expr:
        if which.kind == "constant":
            return cases[which.value or 0]
        if len(cases) != 2:
            raise _NotAnIndexFunctionError
        first, second = cases
        return first + which * (second - first)


def _constant(held: Any) -> Expr:
    with suppress(TypeError, ValueError):
        if held.dtype.kind == "b" or held.dtype.kind in "iu":
            return Expr.constant(int(held))
    if isinstance(held, (bool, int)):
        return Expr.constant(int(held))
    raise _NotAnIndexFunctionError
