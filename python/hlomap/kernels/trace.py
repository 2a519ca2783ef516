"""Python functions of integers as indexing maps: a function is called once, with expressions for its arguments.

:func:`map_from_function` is ``IndexingMap.from_function``.  A function that compares its arguments raises an error,
since an expression has no value: no branch is taken silently.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from typing import Any

from .._core import Expr, IndexingMap, Variable, _set_traced
from ..base.lazy import np
from ..base.text import one_line, plural
from ..base.types import is_index, wrong_type
from ..errors import HlomapError
from ..interop import jaxpr

_OPERATIONS = "+, -, *, //, %, hm.Expr.minimum, hm.Expr.maximum"


def map_from_function(f: Callable[..., Any], dims: Any, ranges: Any) -> IndexingMap:
    """``IndexingMap.from_function``."""
    function = "IndexingMap.from_function"
    sizes = [dims] if is_index(dims) else dims
    try:
        domain = IndexingMap(sizes, [], ranges=ranges)
    except TypeError as error:
        raise TypeError(str(error).replace("hm.IndexingMap:", f"hm.{function}:")) from None
    variables = [Expr.dim(i) for i in range(len(domain.dims))] + [Expr.range(i) for i in range(len(domain.ranges))]
    results = trace(f, variables, domain, function, "`f`")
    return IndexingMap(domain.dims, results, ranges=domain.ranges)


def trace(
    f: Callable[..., Any], arguments: Sequence[Any], domain: IndexingMap, function: str, parameter: str
) -> list[Expr]:
    """The results of a function as expressions; ``domain`` has the variables of its arguments.

    ``function`` and ``parameter`` are for errors.
    """
    takes = f"a function of {plural(len(arguments), 'argument')} as {parameter}"
    if not callable(f):
        raise wrong_type(function, takes, f)
    _expect_arity(f, len(arguments), f"hm.{function}: expected {takes}")
    before = _set_traced(True)
    try:
        got = f(*arguments)
    except (TypeError, AttributeError, IndexError, ValueError) as error:
        if isinstance(error, HlomapError):
            raise
        got = jaxpr.trace(f, arguments, domain) if all(isinstance(e, Expr) for e in arguments) else None
        if got is None:
            raise TypeError(
                f"hm.{function}: expected {takes} that computes with {_OPERATIONS}, got {name_of(f)}, which raised: "
                f"{one_line(str(error), 400)}"
            ) from error
    finally:
        _set_traced(before)
    items = got if isinstance(got, (tuple, list)) else (got,)
    return [_as_expr(item, i, f, function) for i, item in enumerate(items)]


def name_of(f: object) -> str:
    """The name of a function for errors, with its parameters.

    >>> name_of(lambda i, j: i)
    '<lambda>(i, j)'
    """
    name = getattr(f, "__name__", type(f).__name__)
    try:
        return f"{name}({', '.join(signature(f).parameters)})"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return str(name)


def _expect_arity(f: Callable[..., Any], n: int, expected: str) -> None:
    try:
        parameters = signature(f)
    except (TypeError, ValueError):
        return  # a function of C, which raises its own error
    try:
        parameters.bind(*range(n))
    except TypeError:
        raise TypeError(f"{expected}, got {name_of(f)}") from None


def _as_expr(item: Any, number: int, f: Callable[..., Any], function: str) -> Expr:
    if isinstance(item, Expr):
        return item
    try:
        return Expr.constant(operator.index(item))
    except TypeError:
        hint = "write a // b for integer division" if isinstance(item, float) else "index maps return int or Expr"
        takes = f"an int or an Expr as result {number} of {name_of(f)}"
        raise wrong_type(function, takes, item, hint) from None


class PrefetchedArray:
    """An integer array whose elements are known when the kernel runs, as an argument of an index map.

    ``array[i, j]`` is a runtime variable with the bounds of the array; equal elements are one variable, which
    ``variables`` collects for all arrays.
    """

    def __init__(self, number: int, shape: tuple[int, ...], lower: int, upper: int, variables: list[Variable]) -> None:
        self.shape = shape
        self._source, self._lower, self._upper, self._variables = number, lower, upper, variables

    def __getitem__(self, index: Any) -> Expr:
        items = index if isinstance(index, tuple) else (index,)
        if any(not isinstance(item, Expr) and not is_index(item) for item in items) or len(items) != len(self.shape):
            raise TypeError(f"a prefetched array of rank {len(self.shape)} is read element by element, as array[i, …]")
        element = tuple(item if isinstance(item, Expr) else Expr.constant(operator.index(item)) for item in items)
        before = _set_traced(False)
        try:
            for i, v in enumerate(self._variables):
                if v.source == self._source and v.element == element:
                    return Expr.runtime(i)
        finally:
            _set_traced(before)
        self._variables.append(Variable(None, self._lower, self._upper, source=self._source, element=element))
        return Expr.runtime(len(self._variables) - 1)


def apply_ufunc(ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """``Expr.__array_ufunc__``: NumPy's integer functions of expressions, element by element for arrays."""
    apply = _ufuncs().get(ufunc)
    if apply is None or method != "__call__" or options:
        return NotImplemented
    if all(isinstance(item, Expr) or np.ndim(item) == 0 for item in inputs):
        return apply(*(item if isinstance(item, Expr) else operator.index(item) for item in inputs))
    arrays = []
    for item in inputs:
        array = np.empty((), object) if isinstance(item, Expr) else np.asarray(item, object)
        if isinstance(item, Expr):
            array[()] = item
        arrays.append(array)
    return np.frompyfunc(apply, len(inputs), 1)(*arrays)


@cache
def _ufuncs() -> dict[Any, Callable[..., Any]]:
    return {
        np.add: operator.add,
        np.subtract: operator.sub,
        np.multiply: operator.mul,
        np.floor_divide: operator.floordiv,
        np.remainder: operator.mod,
        np.negative: operator.neg,
        np.minimum: Expr.minimum,
        np.maximum: Expr.maximum,
        np.less: operator.lt,
        np.less_equal: operator.le,
        np.greater: operator.gt,
        np.greater_equal: operator.ge,
        np.equal: operator.eq,
        np.not_equal: operator.ne,
    }
