"""Values that come from outside - arguments, queues, a user's functions - checked against the shape in the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core import Shape
from ...dtypes import numpy_dtype
from ...errors import ShapeError
from .._evaluation import Array, Value


class UserFunctionError(Exception):
    """An error of a function that a user gave; it leaves the executor as the error it was."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def call_user_function(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """The value of a user's function."""
    try:
        return function(*arguments, **named)
    except Exception as error:
        raise UserFunctionError(error) from error


def check_value(given: Any, shape: Shape, where: str) -> Value:
    """The value as the executor has it; :class:`ShapeError` with what to do where it does not fit."""
    if shape.is_tuple:
        parts = shape.tuple_shapes
        if not isinstance(given, (tuple, list)) or len(given) != len(parts):
            found = f"{len(given)} values were" if isinstance(given, (tuple, list)) else f"{type(given).__name__} was"
            raise ShapeError(f"{where} is {shape}; {found} given: give a tuple of {len(parts)}")
        return tuple(
            check_value(x, part, f"{where} element {i}") for i, (x, part) in enumerate(zip(given, parts, strict=True))
        )
    if not shape.is_array:
        return None
    dtype = numpy_dtype(shape.dtype)
    array = given if isinstance(given, np.ndarray) else _from_python(given, dtype, shape, where)
    if array.dtype != dtype:
        raise ShapeError(
            f"{where} is {shape}; an array {array.dtype}{list(array.shape)} was given: convert it to {dtype}"
        )
    smaller = zip(array.shape, shape.dimensions, shape.dynamic, strict=False)
    if array.ndim != shape.rank or any(n != size and not (free and n < size) for n, size, free in smaller):
        raise ShapeError(
            f"{where} is {shape}; an array {array.dtype}{list(array.shape)} was given: its sizes must be those"
        )
    return array


def _from_python(given: Any, dtype: np.dtype[Any], shape: Shape, where: str) -> Array:
    """NumPy scalars and what has an array in it keep their type; Python numbers and lists take the shape's."""
    try:
        if isinstance(given, np.generic) or hasattr(given, "__array__"):
            return np.asarray(given)
        return np.asarray(given, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"{where} is {shape}; {type(given).__name__} is no array of it ({error})") from None
