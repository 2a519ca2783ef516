"""The arrays of ``hlomap run``: random inputs or inputs from .npz files, and results in .npz files.

Files hold ``in0``, ``in1``, … for the parameters and ``out0``, … for the results, with tuples flattened; ``dev0_in0``,
… if there are several devices; or unnamed arrays in order (``arr_0``, …).  Arrays of types that NumPy lacks are stored
as unsigned integers, with the type's name under ``in0__dtype``.  Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Computation, Shape
from ..base.files import replacing
from ..errors import ShapeError
from ..verification.values import random_value

Array = npt.NDArray[Any]


def load_npz(path: str | Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, with the types that NumPy lacks restored."""
    try:
        with np.load(path, allow_pickle=False) as file:
            held = dict(file)
    except (OSError, ValueError, KeyError) as error:
        raise ShapeError(f"{path}: expected an .npz file of arrays ({error})") from None
    arrays: dict[str, Array] = {}
    for name, array in held.items():
        if not name.endswith("__dtype"):
            dtype_name = held.get(f"{name}__dtype")
            arrays[name] = array if dtype_name is None else _view_as(array, str(dtype_name), name)
    return arrays


def _view_as(bits: Array, dtype_name: str, name: str) -> Array:
    import ml_dtypes

    dtype = getattr(ml_dtypes, dtype_name, None)
    if dtype is None or np.dtype(dtype).itemsize != bits.dtype.itemsize:
        raise ShapeError(f"{name}: expected a type of {bits.dtype.itemsize} bytes, found {dtype_name}")
    return bits.view(dtype)


def _collect_numbered(held: Mapping[str, Array], prefix: str) -> list[Array]:
    found: list[Array] = []
    while f"{prefix}{len(found)}" in held:
        found.append(held[f"{prefix}{len(found)}"])
    return found


def arrange_inputs(computation: Computation, held: Mapping[str, Array], n_devices: int = 1) -> list[Any]:
    """The arguments of a computation from arrays by name; with several devices, a list by device for each parameter."""
    if n_devices > 1 and "dev0_in0" in held:
        devices = [_nest_arguments(computation, _collect_numbered(held, f"dev{k}_in")) for k in range(n_devices)]
        return [list(by_device) for by_device in zip(*devices, strict=True)]
    return _nest_arguments(computation, _collect_numbered(held, "in") or _collect_numbered(held, "arr_"))


def _nest_arguments(computation: Computation, arrays: Sequence[Array]) -> list[Any]:
    rest = iter(arrays)
    try:
        arguments = [_nest(parameter.shape, rest) for parameter in computation.parameters]
    except StopIteration:
        shapes = ", ".join(str(parameter.shape) for parameter in computation.parameters)
        raise ShapeError(f"{len(arrays)} arrays in0, in1, … are too few for the parameters ({shapes})") from None
    if next(rest, None) is not None:
        raise ShapeError(f"{len(arrays)} arrays in0, in1, … are too many for {len(arguments)} parameters")
    return arguments


def _nest(shape: Shape, arrays: Iterator[Array]) -> Any:
    if shape.is_tuple:
        return tuple([_nest(part, arrays) for part in shape.tuple_shapes])
    return next(arrays) if shape.is_array else None


def draw_inputs(computation: Computation, seed: int) -> list[Any]:
    """Random arguments, determined by the seed: floats from -1 to 1 and small integers."""
    rng = np.random.default_rng(seed)
    return [random_value(parameter.shape, rng, floats=(-1.0, 1.0)) for parameter in computation.parameters]


def flatten(value: Any) -> list[Array]:
    """The arrays of a value in order, without tokens."""
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in flatten(part)]
    return [] if value is None else [value]


def name_results(value: Any, n_devices: int = 1) -> dict[str, Array]:
    """The arrays of a result by their names in files."""
    if n_devices == 1:
        return {f"out{k}": array for k, array in enumerate(flatten(value))}
    return {f"dev{d}_out{k}": x for d, result in enumerate(value) for k, x in enumerate(flatten(result))}


def save_npz(arrays: Mapping[str, Array], path: str | Path) -> None:
    """Writes arrays to an .npz file that :func:`load_npz` reads."""
    held: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.dtype.isbuiltin == 1:
            held[name] = array
        else:
            held[name] = np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")
            held[f"{name}__dtype"] = np.array(array.dtype.name)
    with replacing(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, **held)
