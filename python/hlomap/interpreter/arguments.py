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
from ..ops._numpy.input_checks import check_value

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
            arguments[device].append(check_value(own, parameter.shape, place))
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
