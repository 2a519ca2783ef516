"""Checks of values from outside the module: arguments, queues, results of user functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core import Shape
from ...base.dtypes import bit_width, is_float, is_unsigned, numpy_dtype
from ...base.lazy import np
from ...base.text import one_line
from ...errors import ShapeError
from .._evaluation import Array, Value, on_arrays


class UserFunctionError(Exception):
    """An exception of a user's function, which leaves the interpreter as it was raised."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def call_user_function(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """The result of a user's function; :class:`UserFunctionError` if it raises."""
    try:
        return function(*arguments, **keywords)
    except Exception as error:
        raise UserFunctionError(error) from error


def owned(value: Value) -> Value:
    """A copy that shares no memory with the value, so that either can be overwritten."""
    return on_arrays(np.array, value)


def check_value(value: Any, shape: Shape, where: str) -> Value:
    """The value as the interpreter represents it; :class:`ShapeError` if it does not have the shape."""
    if shape.is_tuple:
        parts = shape.tuple_shapes
        if not isinstance(value, (tuple, list)) or len(value) != len(parts):
            found = f"{len(value)} values were" if isinstance(value, (tuple, list)) else f"{type(value).__name__} was"
            raise ShapeError(f"{where} is {shape}; {found} given: pass a tuple of {len(parts)}")
        return tuple(
            check_value(x, part, f"{where} element {i}") for i, (x, part) in enumerate(zip(value, parts, strict=True))
        )
    if not shape.is_array:
        return None
    dtype = numpy_dtype(shape.dtype)
    array = np.asarray(value) if isinstance(value, np.ndarray) else _from_python(value, dtype, shape, where)
    if array.dtype != dtype:
        raise ShapeError(
            f"{where} is {shape}; an array {array.dtype}{list(array.shape)} was given: convert it to {dtype}"
        )
    smaller = zip(array.shape, shape.dimensions, shape.dynamic, strict=False)
    if array.ndim != shape.rank or any(n != size and not (free and n < size) for n, size, free in smaller):
        raise ShapeError(f"{where} is {shape}; an array {array.dtype}{list(array.shape)} was given: its sizes differ")
    return array


def _from_python(value: Any, dtype: np.dtype[Any], shape: Shape, where: str) -> Array:
    """NumPy scalars and array-likes keep their dtype; Python numbers and lists take that of the shape.

    Floats are rounded; integers and bools must be exact, unlike in NumPy, which truncates and wraps.
    """
    is_inexact = is_float(dtype) or dtype.kind == "c"
    no_numbers: tuple[type, ...] = (str, bytes, type(None), np.datetime64, np.timedelta64)  # NumPy converts them
    if dtype.kind != "c":
        no_numbers += (complex, np.complexfloating)
    n_bits = bit_width(shape.dtype) - (not is_unsigned(dtype))
    low, high = -(2**n_bits) if not is_unsigned(dtype) else 0, 2**n_bits - 1
    try:
        if isinstance(value, np.generic) or hasattr(value, "__array__"):
            return np.asarray(value)
        for x in np.asarray(value, object).flat:
            if isinstance(x, no_numbers) or not (is_inexact or (low <= x <= high and x == int(x))):
                raise ValueError(f"expected numbers that {shape.dtype} holds, found {one_line(repr(x), 60)}")
        return np.asarray(value, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"{where} is {shape}; {type(value).__name__} cannot be converted to it ({error})") from None
