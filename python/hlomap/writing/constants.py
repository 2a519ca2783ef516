"""Numbers and arrays as the text of constants, for every element type.

The text reads back as the same bits, NaN payloads included.
"""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..base.lazy import np
from ..errors import UnsupportedError
from .arguments import invalid, shown, text, wrong_type

# The text of a constant takes several times the bytes of its array, and a module has less than 4 GiB of text.
_MAX_BYTES = 1 << 30

# Bits of the mantissa, for types whose NaNs carry a payload.
_MANTISSAS = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}
_MANTISSAS |= {"float8_e5m2": 2, "float8_e4m3": 3, "float8_e3m4": 4}
# Element types of Python numbers that have no other operand to take theirs from.
_PLAIN = {"b": "pred", "i": "s32", "u": "u32", "f": "f32", "c": "c64"}


def as_array(value: Any, dtype: str | None, argument: str = "value") -> tuple[np.ndarray[Any, np.dtype[Any]], str]:
    """The numbers as an array, and their element type: ``dtype``, or else the one that they have."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise invalid(argument, shown(value), "expected nested lists of equal lengths") from None
    if array.nbytes > _MAX_BYTES:
        raise invalid(argument, f"an array of {array.nbytes:,} bytes", f"expected at most {_MAX_BYTES:,}")
    if array.dtype == object and all(isinstance(item, int) for item in array.flat):
        raise invalid(argument, shown(value), "an integer that does not fit in 64 bits")
    try:
        own = dtypes.element_type(array.dtype)
    except (KeyError, ValueError):
        raise wrong_type(argument, value, "numbers") from None
    is_python = not isinstance(value, (np.ndarray, np.generic))
    if dtype is None:
        dtype = _PLAIN[array.dtype.kind] if is_python else own
    if dtype == own:
        return array, dtype
    try:
        wanted = dtypes.numpy_dtype(text("dtype", dtype))
    except UnsupportedError:
        raise invalid("dtype", repr(dtype), "not an element type of HLO, such as f32") from None
    # Conversion may round floats, but it must not lose an integer, a fraction or an imaginary part.
    kind = element_kind(dtype)
    misfit = invalid(argument, value, f"does not fit in {dtype}")
    if array.dtype.kind == "c" and kind != "complex":
        raise misfit
    with np.errstate(all="ignore"):
        cast = array.astype(wanted)
        is_same = kind in ("float", "complex") or bool(np.all(cast.astype(np.float64) == array.astype(np.float64)))
    if kind in ("int", "uint") and array.dtype.kind in "iu":
        # Neighbours above 2^53 are equal as floats.
        is_same = is_same and bool(np.all(cast.astype(array.dtype) == array))
    if not is_same:
        raise misfit
    return cast, dtype


_KINDS = {"int": "signed integers", "uint": "unsigned integers", "float": "floats", "complex": "complex numbers"}


def kinds_text(kinds: str, conjunction: str) -> str:
    """Kinds of element types in words."""
    words = [_KINDS.get(kind, kind) for kind in kinds.split()]
    return f" {conjunction} ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def element_kind(dtype: str) -> str:
    """``pred``, ``int``, ``uint``, ``float`` or ``complex``; ``""`` for types of values that are not arrays."""
    if dtype == "pred":
        return "pred"
    if dtype in ("tuple", "token", "opaque", "buffer"):
        return ""
    return {"s": "int", "u": "uint", "c": "complex"}.get(dtype[0], "float")


def literal_text(array: np.ndarray[Any, np.dtype[Any]], element: str) -> str:
    """The text of a constant."""
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
    """A NaN with its payload, if it has more than the quiet bit."""
    sign = "-" if is_negative else ""
    mantissa = _MANTISSAS.get(number.dtype.name)
    if mantissa is None:
        return sign + "nan"
    bits = int(number.reshape(1).view(f"u{number.dtype.itemsize}")[0]) & ((1 << mantissa) - 1)
    return sign + "nan" if bits == 1 << (mantissa - 1) else f"{sign}nan(0x{bits:x})"
