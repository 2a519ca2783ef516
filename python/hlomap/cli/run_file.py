"""A program run on arrays from files: inputs from .npz or at random, results compared with .npz.

Read :func:`inputs` first.  Files hold ``in0``, ``in1``, … for the parameters and ``out0``, … for the results, tuples
flattened, and for one device of several ``dev0_in0``, …; or the arrays in order (``arr_0``, …).  Types that NumPy lacks
are bits with the name of the type under ``in0__dtype``.  Nothing is printed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import Computation, Shape
from ..errors import ShapeError

__all__ = ["Comparison", "compared", "flattened", "inputs", "random_inputs", "read_arrays", "results", "saved"]

Array = npt.NDArray[Any]


def read_arrays(path: str | Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, in the types that they stand for."""
    try:
        with np.load(path, allow_pickle=False) as file:
            held = dict(file)
    except (OSError, ValueError, KeyError) as error:
        raise ShapeError(f"{path} is no .npz file of arrays ({error})") from None
    found: dict[str, Array] = {}
    for name, array in held.items():
        if not name.endswith("__dtype"):
            word = held.get(f"{name}__dtype")
            found[name] = array if word is None else _as_type(array, str(word), name)
    return found


def _as_type(bits: Array, word: str, name: str) -> Array:
    import ml_dtypes

    dtype = getattr(ml_dtypes, word, None)
    if dtype is None or np.dtype(dtype).itemsize != bits.dtype.itemsize:
        raise ShapeError(f"{name}: {word} is no type of {bits.dtype.itemsize} bytes")
    return bits.view(dtype)


def _numbered(held: Mapping[str, Array], prefix: str) -> list[Array]:
    found: list[Array] = []
    while f"{prefix}{len(found)}" in held:
        found.append(held[f"{prefix}{len(found)}"])
    return found


def inputs(computation: Computation, held: Mapping[str, Array], n_devices: int = 1) -> list[Any]:
    """The arguments of a computation; with several devices, a list by device for each parameter."""
    if n_devices > 1 and "dev0_in0" in held:
        devices = [_arguments(computation, _numbered(held, f"dev{k}_in")) for k in range(n_devices)]
        return [list(own) for own in zip(*devices, strict=True)]
    return _arguments(computation, _numbered(held, "in") or _numbered(held, "arr_"))


def _arguments(computation: Computation, arrays: Sequence[Array]) -> list[Any]:
    rest = iter(arrays)
    try:
        given = [_shaped(parameter.shape, rest) for parameter in computation.parameters]
    except StopIteration:
        shapes = ", ".join(str(parameter.shape) for parameter in computation.parameters)
        raise ShapeError(f"{len(arrays)} arrays in0, in1, … are too few for ({shapes})") from None
    if next(rest, None) is not None:
        raise ShapeError(f"{len(arrays)} arrays in0, in1, … are too many for {len(given)} parameters")
    return given


def _shaped(shape: Shape, arrays: Iterator[Array]) -> Any:
    if shape.is_tuple:
        parts: list[Any] = []
        for part in shape.tuple_shapes:
            if part.is_array or part.is_tuple:
                parts.append(_shaped(part, arrays))
            else:
                parts.append(None)
        return tuple(parts)
    return next(arrays) if shape.is_array else None


def random_inputs(computation: Computation, seed: int) -> list[Any]:
    """Arguments of random elements: normal floats, small integers; the same for the same seed."""
    rng = np.random.default_rng(seed)

    def one(shape: Shape) -> Any:
        if shape.is_tuple:
            return tuple(one(part) for part in shape.tuple_shapes)
        return _random(shape, rng) if shape.is_array else None

    return [one(parameter.shape) for parameter in computation.parameters]


def _random(shape: Shape, rng: np.random.Generator) -> Array:
    from ..dtypes import is_integer, is_unsigned, numpy_dtype
    from ..ops._numpy.numeric import width_of

    dtype, sizes = numpy_dtype(shape.dtype), shape.dimensions
    if dtype == np.bool_:
        return rng.integers(0, 2, sizes).astype(np.bool_)
    if is_integer(dtype):
        high = min(8, 2 ** (width_of(dtype) - (0 if is_unsigned(dtype) else 1)))
        return rng.integers(0 if is_unsigned(dtype) else -high, high, sizes).astype(np.int32).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(sizes) + 1j * rng.standard_normal(sizes)).astype(dtype)
    normal = rng.standard_normal(sizes)
    return (np.abs(normal) if shape.dtype == "f8e8m0fnu" else normal).astype(dtype)


def flattened(value: Any) -> list[Array]:
    """The arrays of a value in order; tokens are none."""
    if isinstance(value, (list, tuple)):
        return [array for part in value for array in flattened(part)]
    return [] if value is None else [value]


def results(value: Any, n_devices: int = 1) -> dict[str, Array]:
    """The arrays of a value by the names that files have for them."""
    if n_devices == 1:
        return {f"out{k}": array for k, array in enumerate(flattened(value))}
    return {f"dev{d}_out{k}": x for d, own in enumerate(value) for k, x in enumerate(flattened(own))}


def saved(arrays: Mapping[str, Array], path: str | Path) -> None:
    """Write arrays to an .npz file, as :func:`read_arrays` reads them."""
    held: dict[str, Any] = {}
    for name, array in arrays.items():
        if array.dtype.isbuiltin == 1:
            held[name] = array
        else:
            held[name] = np.asarray(array, order="C").view(f"u{array.dtype.itemsize}")
            held[f"{name}__dtype"] = np.array(array.dtype.name)
    np.savez_compressed(path, **held)


@dataclass(frozen=True)
class Comparison:
    """Two arrays under one name: how many elements are too far apart, and the first of them."""

    name: str
    n_elements: int
    n_different: int
    text: str


def compared(found: Mapping[str, Array], expected: Mapping[str, Array], tolerance: float) -> list[Comparison]:
    """Results against those of a file.

    Floats may be apart by ``tolerance`` times the largest expected value; everything else is equal or different.
    """
    names = [name for name in found if name in expected]
    if not names and found:
        raise ShapeError(f"no array {', '.join(found)} to compare with, there are {', '.join(expected) or 'none'}")
    return [_comparison(name, found[name], expected[name], tolerance) for name in names]


def _comparison(name: str, found: Array, expected: Array, tolerance: float) -> Comparison:
    if found.shape != expected.shape or found.dtype != expected.dtype:
        shapes = [f"{x.dtype}{list(x.shape)}" for x in (found, expected)]
        return Comparison(name, found.size, max(1, found.size), f"is {shapes[0]}, {shapes[1]} was expected")
    same = (found == expected) | ((found != found) & (expected != expected))
    if same.all():
        return Comparison(name, found.size, 0, "equal")
    if expected.dtype == np.bool_ or expected.dtype.kind in "iu" or "int" in expected.dtype.name:
        near, apart = same, ""
    else:
        work = np.complex128 if expected.dtype.kind == "c" else np.float64
        x, y = found.astype(work), expected.astype(work)
        finite = np.isfinite(x) & np.isfinite(y)
        gap = np.abs(np.where(finite, x - y, 0))
        largest = float(np.abs(np.where(finite, y, 0)).max()) or 1.0
        near = same | (finite & (gap <= tolerance * largest))
        apart = f"; up to {gap.max():.3g} apart, {gap.max() / largest:.3g} of the largest"
    n = int((~near).sum())
    if not n:
        return Comparison(name, found.size, 0, f"within the tolerance{apart}")
    first = tuple(int(i) for i in np.argwhere(~near)[0])
    where = f"first at {list(first)}: {found[first]}, {expected[first]} was expected"
    return Comparison(name, found.size, n, f"{n} of {found.size} elements differ{apart}; {where}")
