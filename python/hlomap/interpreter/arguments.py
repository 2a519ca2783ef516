"""Checks the arguments of a run against the shapes of the parameters.

An argument must fit its parameter exactly; otherwise the error says how to convert it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Computation, Shape
from ..errors import ShapeError
from ..ops._evaluation import Array, Value, on_arrays
from ..ops._numpy.input_checks import check_value


def distribute_arguments(
    computation: Computation, given: Sequence[Any], n_replicas: int, n_partitions: int
) -> list[list[Value]]:
    """The checked arguments of each device."""
    if n_replicas < 1 or n_partitions < 1:
        raise ShapeError(f"expected at least 1 replica and 1 partition, found {n_replicas} and {n_partitions}")
    parameters = computation.parameters
    if len(given) != len(parameters):
        wanted = ", ".join(f"{p.name}: {p.shape}" for p in parameters)
        dropped = "; JAX drops arguments that a function does not use, unless it is jitted with keep_unused=True"
        raise ShapeError(
            f"{computation.name} has {len(parameters)} parameters ({wanted}), {len(given)} arguments were given"
            + (dropped if len(given) > len(parameters) else "")
        )
    n = n_replicas * n_partitions
    arguments: list[list[Value]] = [[] for _ in range(n)]
    for number, (value, parameter) in enumerate(zip(given, parameters, strict=True)):
        where = f"parameter {number}, {parameter.name},"
        for device, argument in enumerate(_split_by_device(value, parameter.shape, n, where)):
            label = where if n == 1 else f"{where} on device {device}"
            arguments[device].append(on_arrays(_read_only, check_value(argument, parameter.shape, label)))
    return arguments


def _read_only(array: Array) -> Array:
    """A read-only view of the caller's array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _split_by_device(value: Any, shape: Shape, n: int, where: str) -> Sequence[Any]:
    """One value for each device."""
    if n == 1:
        return [value]
    if isinstance(value, list):
        if len(value) != n:
            raise ShapeError(f"{where} expected a value for each of {n} devices, found a list of {len(value)}")
        return value
    array = np.asarray(value) if hasattr(value, "__array__") else None
    if array is not None and shape.is_array and array.shape == (n, *shape.dimensions):
        return list(array)
    return [value] * n


def own_results(value: Value, given: set[int]) -> Value:
    """The value with lists in place of tuples, and with copies of arrays that share memory with an argument, a constant
    or another result.  ``given`` identifies the arrays that the caller already has."""
    if isinstance(value, tuple):
        return [own_results(x, given) for x in value]
    if value is None:
        return None
    array = value if value.flags.owndata and value.flags.writeable and id(value) not in given else np.array(value)
    given.add(id(array))
    return array


def parse_rng_state(state: int | npt.ArrayLike) -> int:
    """The 128-bit state from an int or from two 64-bit words, the low word first."""
    if isinstance(state, int):
        if not 0 <= state < 2**128:
            raise ShapeError(f"rng_state: expected an int of at most 128 bits, found {state}")
        return state
    words = np.asarray(state).reshape(-1)
    if words.dtype.kind not in "iu" or words.size > 2 or words.dtype.itemsize > 8 or (words < 0).any():
        raise ShapeError("rng_state: expected an int of 128 bits, or two words of 64 bits with the low word first")
    return sum(int(word) << (64 * i) for i, word in enumerate(words))
