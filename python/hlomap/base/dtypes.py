"""Element types of HLO as NumPy dtypes.

:func:`numpy_dtype` maps HLO names to dtypes; types that NumPy lacks come from ml_dtypes, where types narrower than a
byte take one byte per element.  All conversions between the two sets of names are here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ..errors import UnsupportedError
from .lazy import np, npt

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


_BITS = {"pred": 1, "s1": 1, "u1": 1, "s2": 2, "u2": 2, "s4": 4, "u4": 4, "f4e2m1fn": 4}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of an HLO element type; raises :class:`~hlomap.errors.UnsupportedError` for other names.

    >>> numpy_dtype("s32"), numpy_dtype("bf16").itemsize
    (dtype('int32'), 2)
    """
    if name in _NUMPY:
        return np.dtype(_NUMPY[name])
    # Imported only for types that need it: importing ml_dtypes takes longer than importing hlomap.
    import ml_dtypes

    if name not in _ML_DTYPES:
        raise UnsupportedError(f"no NumPy type for element type {name}")
    dtype_name = _ML_DTYPES[name]
    if not hasattr(ml_dtypes, dtype_name):
        # Older versions of ml_dtypes lack one-bit types; their values fit in two bits.
        dtype_name = dtype_name.replace("int1", "int2")
    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype_name))
    return dtype


def element_type(dtype: np.dtype[Any]) -> str:
    """The HLO element type with this dtype; raises ``KeyError`` if there is none.

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


def max_rank() -> int:
    """The largest number of dimensions of a NumPy array; 32 before NumPy 2."""
    return getattr(np, "MAXDIMS", 64)


def array(data: bytes, name: str, dimensions: tuple[int, ...]) -> npt.NDArray[Any]:
    """A read-only array over ``data``: elements in row-major order, each in whole bytes.

    Raises :class:`~hlomap.errors.UnsupportedError` above :func:`max_rank` dimensions.

    >>> array(bytes([1, 0, 2, 0]), "s16", (2,))
    array([1, 2], dtype=int16)
    """
    if len(dimensions) > max_rank():
        raise UnsupportedError(f"NumPy has arrays of up to {max_rank()} dimensions, not of {len(dimensions)}")
    return np.frombuffer(data, dtype=numpy_dtype(name)).reshape(dimensions)


def bit_width(name: str) -> int:
    """The number of bits of an element's value, which may be less than its storage."""
    return _BITS.get(name) or numpy_dtype(name).itemsize * 8


def is_packed(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype comes from ml_dtypes; arithmetic on such a dtype uses a wider type."""
    return dtype.isbuiltin == 2


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a signed or unsigned integer of any width; not bool."""
    return dtype.kind in "iu" or (is_packed(dtype) and "int" in dtype.name)


def is_unsigned(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is an unsigned integer or bool."""
    return dtype.kind in "ub" or (is_packed(dtype) and dtype.name.startswith("uint"))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Whether the dtype is a real floating-point type of any width."""
    return dtype.kind == "f" or (is_packed(dtype) and "float" in dtype.name)
