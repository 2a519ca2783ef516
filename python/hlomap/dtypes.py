"""Element types of HLO as NumPy dtypes.

:func:`numpy_dtype` maps the names in HLO text to dtypes; what NumPy lacks comes from ml_dtypes.  Types narrower than a
byte take one byte per element, as there.  Nothing else knows the two vocabularies.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import UnsupportedError

_NUMPY = {
    "pred": "bool",
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)},
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
}
_ML_DTYPES = {
    **{f"{kind}{bits}": f"{name}{bits}" for kind, name in (("s", "int"), ("u", "uint")) for bits in (1, 2, 4)},
    "bf16": "bfloat16",
    **{
        f"f{tail}": f"float{bits}_{tail[1:]}"
        for bits, tails in (
            (8, "8e5m2 8e4m3 8e4m3fn 8e4m3b11fnuz 8e5m2fnuz 8e4m3fnuz 8e3m4 8e8m0fnu"),
            (4, "4e2m1fn"),
        )
        for tail in tails.split()
    },
}


_BITS = {"pred": 1, "s1": 1, "u1": 1, "s2": 2, "u2": 2, "s4": 4, "u4": 4}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of an HLO element type; :class:`~hlomap.errors.UnsupportedError` for other words.

    >>> numpy_dtype("s32"), numpy_dtype("bf16").itemsize
    (dtype('int32'), 2)
    """
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    # ml_dtypes is imported for the types that need it alone: it costs more than hlomap itself.
    import ml_dtypes

    if name not in _ML_DTYPES:
        raise UnsupportedError(f"no NumPy type for element type {name}")
    word = _ML_DTYPES[name]
    if not hasattr(ml_dtypes, word):
        # Older ml_dtypes have no types of one bit; their values fit in those of two.
        word = word.replace("int1", "int2")
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, word))
    return dtype


def element_type(dtype: np.dtype[Any]) -> str:
    """The HLO element type that is stored as this dtype; ``KeyError`` where none is.

    >>> element_type(np.dtype("uint8")), element_type(numpy_dtype("bf16"))
    ('u8', 'bf16')
    """
    return _NAMES[dtype.name]


def element_types() -> tuple[str, ...]:
    """All element types that have a dtype.

    >>> "bf16" in element_types()
    True
    """
    return (*_NUMPY, *_ML_DTYPES)


_NAMES = {name: element for element, name in (_NUMPY | _ML_DTYPES).items()}


def array(data: bytes, name: str, dimensions: tuple[int, ...]) -> npt.NDArray[Any]:
    """The read-only array of elements that ``data`` holds in row-major order, whole bytes each.

    >>> array(bytes([1, 0, 2, 0]), "s16", (2,))
    array([1, 2], dtype=int16)
    """
    return np.frombuffer(data, dtype=numpy_dtype(name)).reshape(dimensions)


def bit_width(name: str) -> int:
    """The number of bits that carry the value of an element."""
    return _BITS.get(name) or numpy_dtype(name).itemsize * 8


def is_packed(dtype: np.dtype[Any]) -> bool:
    """Whether it is a type of ml_dtypes, which is computed in a wider one."""
    return dtype.isbuiltin == 2


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Signed or unsigned, of any width; not bool."""
    return dtype.kind in "iu" or (is_packed(dtype) and "int" in dtype.name)


def is_unsigned(dtype: np.dtype[Any]) -> bool:
    """Unsigned integers and bool."""
    return dtype.kind in "ub" or (is_packed(dtype) and dtype.name.startswith("uint"))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Real floating point of any width."""
    return dtype.kind == "f" or (is_packed(dtype) and "float" in dtype.name)
