"""Numbers and arrays as the text of constants, in any element type.

Read :func:`as_array`.  Law: the text reads back as the same bits, nans with their payload.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..errors import UnsupportedError
from .values import refuse

__all__ = ["as_array", "element_kind", "literal_text"]

# The bits of the mantissa, of types with nans that differ in them.
_MANTISSAS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_MANTISSAS |= {"float8_e5m2": 2, "float8_e4m3": 3, "float8_e3m4": 4}
# Python numbers without a value beside them that says their type.
_PLAIN = {"b": "pred", "i": "s32", "u": "u32", "f": "f32", "c": "c64"}


def as_array(
    operation: str, value: Any, dtype: str | None, argument: str = "value"
) -> tuple[np.ndarray[Any, np.dtype[Any]], str]:
    try:
        array = np.asarray(value)
        own = dtypes.element_type(array.dtype)
    except (KeyError, ValueError):
        raise refuse(operation, argument, repr(value), "expected numbers") from None
    is_python = not isinstance(value, (np.ndarray, np.generic))
    if dtype is None:
        dtype = _PLAIN[array.dtype.kind] if is_python else own
    if dtype == own:
        return array, dtype
    try:
        wanted = dtypes.numpy_dtype(dtype)
    except UnsupportedError:
        raise refuse(operation, "dtype", repr(dtype), "no element type") from None
    # A value changes its type where no integer and no imaginary part gets lost; floats are rounded.
    kind = element_kind(dtype)
    misfit = refuse(operation, argument, value, f"does not fit in {dtype}")
    if array.dtype.kind == "c" and kind != "complex":
        raise misfit
    with np.errstate(all="ignore"):
        cast = array.astype(wanted)
        is_same = kind in ("float", "complex") or bool(np.all(cast.astype(np.float64) == array.astype(np.float64)))
    if kind in ("int", "uint") and array.dtype.kind in "iu":
        # Neighbours above 2^53 are one float.
        is_same = is_same and bool(np.all(cast.astype(array.dtype) == array))
    if not is_same:
        raise misfit
    return cast, dtype


def element_kind(dtype: str) -> str:
    """``pred``, ``int``, ``uint``, ``float`` or ``complex``; ``""`` for what is no array."""
    if dtype == "pred":
        return "pred"
    if dtype in ("tuple", "token", "opaque", "buffer"):
        return ""
    return {"s": "int", "u": "uint", "c": "complex"}.get(dtype[0], "float")


def literal_text(array: np.ndarray[Any, np.dtype[Any]], element: str) -> str:
    """The text of a constant, which reads back as the same bits."""
    return _nested(array, element_kind(element))


def _nested(array: np.ndarray[Any, np.dtype[Any]], kind: str) -> str:
    if array.ndim:
        return "{" + ", ".join(_nested(part, kind) for part in array) + "}"
    if kind == "pred":
        return "true" if array else "false"
    if kind in ("int", "uint"):
        return str(int(array))
    if kind == "complex":
        return f"({_real(array.real)}, {_real(array.imag)})"
    return _real(array)


def _real(number: Any) -> str:
    plain = np.asarray(number)
    double = plain.astype(np.float64)
    if np.isnan(double):
        return _nan(plain, bool(np.signbit(double)))
    return repr(float(double))


def _nan(number: np.ndarray[Any, np.dtype[Any]], is_negative: bool) -> str:
    """A nan with its payload, where the type has any besides the quiet bit."""
    sign = "-" if is_negative else ""
    mantissa = _MANTISSAS.get(number.dtype.name)
    if mantissa is None:
        return sign + "nan"
    bits = int(number.reshape(1).view(f"u{number.dtype.itemsize}")[0]) & ((1 << mantissa) - 1)
    return sign + "nan" if bits == 1 << (mantissa - 1) else f"{sign}nan(0x{bits:x})"
