"""What is given to a run and what comes out of it, checked against the shapes in the text.

Read :func:`by_device` first.  The law: an argument fits its parameter exactly, or the error says what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Computation, Shape
from ..errors import ShapeError
from .plan import dtype_of

__all__ = ["by_device", "listed", "state_bits"]

Value = Any


def by_device(
    computation: Computation, given: Sequence[Any], num_replicas: int, num_partitions: int
) -> list[list[Value]]:
    """The arguments of each device, checked."""
    if num_replicas < 1 or num_partitions < 1:
        raise ShapeError(f"{num_replicas} replicas and {num_partitions} partitions: there is at least one of each")
    parameters = computation.parameters
    if len(given) != len(parameters):
        wanted = ", ".join(f"{p.name}: {p.shape}" for p in parameters)
        raise ShapeError(
            f"{computation.name} has {len(parameters)} parameters ({wanted}), {len(given)} arguments were given"
        )
    n = num_replicas * num_partitions
    arguments: list[list[Value]] = [[] for _ in range(n)]
    for number, (value, parameter) in enumerate(zip(given, parameters, strict=True)):
        where = f"parameter {number}, {parameter.name},"
        for device, own in enumerate(_dealt(value, parameter.shape, n, where)):
            place = where if n == 1 else f"{where} on device {device}"
            arguments[device].append(_fitting(own, parameter.shape, place))
    return arguments


def _dealt(value: Any, shape: Shape, n: int, where: str) -> Sequence[Any]:
    """One value for each device."""
    if n == 1:
        return [value]
    if isinstance(value, list):
        if len(value) != n:
            raise ShapeError(f"{where} has a list of {len(value)} values; give one for each of {n} devices")
        return value
    stacked = isinstance(value, np.ndarray) and shape.is_array and value.shape == (n, *shape.dimensions)
    return list(value) if stacked else [value] * n


def _fitting(given: Any, shape: Shape, where: str) -> Value:
    if shape.is_tuple:
        parts = shape.tuple_shapes
        if not isinstance(given, (tuple, list)) or len(given) != len(parts):
            found = f"{len(given)} values were" if isinstance(given, (tuple, list)) else f"{type(given).__name__} was"
            raise ShapeError(f"{where} is {shape}; {found} given: give a tuple of {len(parts)}")
        return tuple(
            _fitting(x, part, f"{where} element {i}") for i, (x, part) in enumerate(zip(given, parts, strict=True))
        )
    if not shape.is_array:
        return None
    dtype = dtype_of(shape)
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


def _from_python(given: Any, dtype: np.dtype[Any], shape: Shape, where: str) -> npt.NDArray[Any]:
    """NumPy scalars and what has an array in it keep their type; Python numbers and lists take the parameter's."""
    try:
        if isinstance(given, np.generic) or hasattr(given, "__array__"):
            return np.asarray(given)
        return np.asarray(given, dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(f"{where} is {shape}; {type(given).__name__} is no array of it ({error})") from None


def listed(value: Value) -> Value:
    """Lists in the place of tuples."""
    return [listed(x) for x in value] if isinstance(value, tuple) else value


def state_bits(state: int | npt.ArrayLike) -> int:
    """128 bits from a number or from two words, the low one first."""
    if isinstance(state, int):
        if not 0 <= state < 2**128:
            raise ShapeError(f"rng_state {state} is not 128 bits")
        return state
    words = np.asarray(state).reshape(-1)
    if words.dtype.kind not in "iu" or words.size > 2 or words.dtype.itemsize > 8:
        raise ShapeError("rng_state is a number of 128 bits or two words of 64, the low one first")
    return sum((int(word) % 2**64) << (64 * i) for i, word in enumerate(words))
