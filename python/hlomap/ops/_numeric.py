"""Numbers as XLA has them, on NumPy arrays: element types, widening, and the functions where NumPy means otherwise.

The law: integers wrap, integer division truncates and never traps, shifts past the width shift everything out.
Types that NumPy computes with poorly (those of ml_dtypes) are widened first and narrowed after.  No shapes, no
instructions and no maps here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _hlo_types
from ..errors import UnsupportedError

Array = npt.NDArray[Any]

_BITS = {"pred": 1, "s1": 1, "u1": 1, "s2": 2, "u2": 2, "s4": 4, "u4": 4}


@cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy type of an HLO element type."""
    try:
        return _hlo_types.numpy_dtype(name)
    except (KeyError, AttributeError):
        raise UnsupportedError(f"no NumPy type for element type {name}") from None


def bit_width(name: str) -> int:
    """The number of bits that carry the value of an element."""
    return _BITS.get(name) or numpy_dtype(name).itemsize * 8


def is_integer(dtype: np.dtype[Any]) -> bool:
    """Signed or unsigned, of any width; not bool."""
    return dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name)


def is_unsigned(dtype: np.dtype[Any]) -> bool:
    """Unsigned integers and bool."""
    return dtype.kind in "ub" or (dtype.kind == "V" and dtype.name.startswith("uint"))


def is_float(dtype: np.dtype[Any]) -> bool:
    """Real floating point of any width."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type to compute in: the type itself where NumPy has it."""
    if dtype.kind != "V":
        return dtype
    if is_float(dtype):
        return np.dtype(np.float32)
    return np.dtype(np.uint32 if is_unsigned(dtype) else np.int32)


def cast(x: Array, to: np.dtype[Any]) -> Array:
    """``astype``, also between types that ml_dtypes does not convert into each other."""
    if x.dtype.kind == "V" and to.kind == "V" and x.dtype != to:
        x = x.astype(widened(x.dtype))
    return x.astype(to)


def wide(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function on widened arguments; a result in the wide type is narrowed to that of the first argument."""

    def widening(first: Array, *rest: Array) -> Array:
        dtype = np.asarray(first).dtype
        to = widened(dtype)
        with np.errstate(all="ignore"):
            if to is dtype:
                return np.asarray(function(first, *rest))
            got = np.asarray(function(first.astype(to), *(x.astype(widened(x.dtype)) for x in rest)))
            return got.astype(dtype) if got.dtype == to else got

    return widening


def width_of(dtype: np.dtype[Any]) -> int:
    """The bits of an element, also for the packed types."""
    if dtype.kind == "V" and is_integer(dtype):
        return int(dtype.name.lstrip("uint"))
    return dtype.itemsize * 8


# ---------------------------------------------------------------------------------------------------------- integers


def divide(a: Array, b: Array) -> Array:
    """Truncating; by zero all bits set, lowest / -1 is lowest."""
    if not is_integer(a.dtype):
        return np.asarray(a / b)
    quotient, _ = _truncating(a, b)
    return np.where(b == 0, np.invert(np.zeros_like(a)), quotient)


def remainder(a: Array, b: Array) -> Array:
    """With the sign of the dividend; by zero the dividend."""
    if not is_integer(a.dtype):
        return np.fmod(a, b)
    _, rest = _truncating(a, b)
    return np.where(b == 0, a, rest)


def _truncating(a: Array, b: Array) -> tuple[Array, Array]:
    if is_unsigned(a.dtype):
        safe = np.where(b == 0, np.ones_like(b), b)
        return a // safe, a % safe
    special = (b == 0) | (b == -1)
    safe = np.where(special, np.ones_like(b), b)
    floor, rest = a // safe, a % safe
    up = (rest != 0) & ((a < 0) != (safe < 0))
    quotient = np.where(up, floor + np.ones_like(floor), floor)
    quotient = np.where(b == -1, np.negative(a), quotient)
    rest = np.where(special, np.zeros_like(a), a - quotient * safe)
    return quotient.astype(a.dtype), rest.astype(a.dtype)


def power(a: Array, b: Array) -> Array:
    """Integers wrap; a negative exponent gives the truncated reciprocal."""
    if not is_integer(a.dtype):
        return np.power(a, b)
    if is_unsigned(a.dtype):
        return np.power(a, b)
    one = np.ones_like(a)
    positive = np.power(a, np.where(b < 0, np.zeros_like(b), b))
    reciprocal = np.where(a == 1, one, np.where(a == -1, np.where(b % 2 == 0, one, -one), np.zeros_like(a)))
    return np.where(b < 0, reciprocal, positive)


def shift(left: bool, arithmetic: bool) -> Callable[[Array, Array], Array]:
    """A shift whose amount is read as unsigned; past the width everything is shifted out."""

    def shifted(a: Array, b: Array) -> Array:
        width = width_of(a.dtype)
        work = a.astype(widened(a.dtype))
        bits = np.dtype(f"u{work.dtype.itemsize}")
        amount = b.astype(widened(b.dtype)).astype(bits)
        inside = (amount < width) & (b >= 0)
        amount = np.where(inside, amount, np.zeros_like(amount))
        if left:
            got = np.where(inside, (work.astype(bits) << amount).astype(work.dtype), np.zeros_like(work))
        elif arithmetic:
            signed = work.view(np.dtype(f"i{work.dtype.itemsize}")) if is_unsigned(a.dtype) else work
            last = np.full_like(amount, width - 1)
            got = (signed >> np.where(inside, amount, last).astype(signed.dtype)).astype(work.dtype)
        else:
            mask = bits.type(2**width - 1)
            got = np.where(inside, ((work.astype(bits) & mask) >> amount).astype(work.dtype), np.zeros_like(work))
        return np.asarray(got).astype(a.dtype)

    return shifted


def high_product(a: Array, b: Array) -> Array:
    """The high half of the product in twice the width."""
    width = width_of(a.dtype)
    if width <= 32:
        long = np.uint64 if is_unsigned(a.dtype) else np.int64
        return ((a.astype(long) * b.astype(long)) >> long(width)).astype(a.dtype)
    half, low = np.uint64(32), np.uint64(2**32 - 1)
    x, y = a.view(np.uint64), b.view(np.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    high = x1 * y1 + (middle >> half) + (((middle & low) + x0 * y1) >> half)
    if not is_unsigned(a.dtype):
        high = high - np.where(a < 0, y, 0).astype(np.uint64) - np.where(b < 0, x, 0).astype(np.uint64)
    signed: Array = high.view(a.dtype)
    return signed


def leading_zeros(a: Array) -> Array:
    """The zero bits above the highest set one."""
    width = width_of(a.dtype)
    rest = a.astype(widened(a.dtype)).astype(np.uint64) & np.uint64(2**width - 1)
    used = np.zeros(a.shape, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        big = rest >= np.uint64(1 << step)
        used = used + np.where(big, np.uint64(step), np.uint64(0))
        rest = np.where(big, rest >> np.uint64(step), rest)
    zeros: Array = np.uint64(width) - used - (rest != 0)
    return zeros.astype(a.dtype)


def set_bits(a: Array) -> Array:
    """The number of bits set."""
    bits = a.astype(widened(a.dtype)).astype(np.uint64) & np.uint64(2 ** width_of(a.dtype) - 1)
    count: Array = np.bitwise_count(bits)
    return count.astype(a.dtype)


# ------------------------------------------------------------------------------------------------------------- floats


def erf(x: Array) -> Array:
    """By 2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!, whose terms have one sign; 1 beyond 6."""
    z = np.clip(x.astype(np.float64), -6.0, 6.0)
    term, total = z.copy(), z.copy()
    for n in range(1, 160):
        term = term * (2.0 * z * z / (2 * n + 1))
        total = total + term
    return np.where(np.abs(z) >= 6.0, np.sign(z), 2.0 / np.sqrt(np.pi) * np.exp(-z * z) * total).astype(x.dtype)


def away_from_zero(x: Array) -> Array:
    """The nearest integer, halves away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)


def total_order_key(x: Array) -> Array:
    """Integers that compare as IEEE's total order does: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    if not is_float(x.dtype):
        return x
    size = x.dtype.itemsize
    bits = np.ascontiguousarray(x).view(np.dtype(f"i{size}"))
    flip = np.array(2 ** (8 * size - 1) - 1, bits.dtype)
    return np.where(bits < 0, bits ^ flip, bits)


def converted(x: Array, to: np.dtype[Any]) -> Array:
    """Floats truncate and saturate to integers, NaN becomes 0; integers wrap; any nonzero is true."""
    with np.errstate(all="ignore"):
        if to == np.bool_:
            return np.asarray(x != np.zeros((), x.dtype))
        if x.dtype.kind == "c" and to.kind != "c":
            x = x.real
        if is_integer(to) and is_float(x.dtype):
            return _saturated(x, to)
        if x.dtype.kind == "V" and to.kind == "V" and is_integer(x.dtype) != is_integer(to):
            x = x.astype(widened(x.dtype))
        return x.astype(to)


def _saturated(x: Array, to: np.dtype[Any]) -> Array:
    width = width_of(to)
    low, high = (0, 2**width - 1) if is_unsigned(to) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    work = widened(to)
    z = np.trunc(x.astype(np.float64))
    inside = (z > low) & (z < high)
    kept = np.where(inside, z, 0.0).astype(work)
    ends = np.where(z >= high, np.array(high, work), np.where(z <= low, np.array(low, work), np.array(0, work)))
    return np.where(inside, kept, ends).astype(to)


def reduced_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to nearest even in a smaller format, flush what underflows, overflow to infinity."""
    if x.dtype.kind == "V":
        return reduced_precision(x.astype(np.float32), exponent_bits, mantissa_bits).astype(x.dtype)
    size = x.dtype.itemsize
    own_mantissa = np.finfo(x.dtype).nmant
    own_exponent = 8 * size - 1 - own_mantissa
    bits_type = np.dtype(f"u{size}")
    bits = np.ascontiguousarray(x).view(bits_type)
    sign = bits & bits_type.type(1 << (8 * size - 1))
    if mantissa_bits < own_mantissa:
        drop = own_mantissa - mantissa_bits
        odd = (bits >> bits_type.type(drop)) & bits_type.type(1)
        kept = bits_type.type(~((1 << drop) - 1) % (1 << 8 * size))
        bits = (bits + bits_type.type((1 << (drop - 1)) - 1) + odd) & kept
    if exponent_bits < own_exponent:
        field = bits & bits_type.type(((1 << own_exponent) - 1) << own_mantissa)
        bias, small = (1 << (own_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        too_big = field > bits_type.type((bias + small) << own_mantissa)
        too_small = field <= bits_type.type((bias - small) << own_mantissa)
        infinite = sign | bits_type.type(((1 << own_exponent) - 1) << own_mantissa)
        bits = np.where(too_big, infinite, np.where(too_small, sign, bits))
    return np.where(np.isnan(x), x, bits.astype(bits_type).view(x.dtype))


# --------------------------------------------------------------------------------------------------------------- bits


def reinterpreted(array: Array, source: str, target: str) -> Array:
    """The bits of a row of elements read as another element type; the first of several has the lowest bits."""
    wide, narrow = bit_width(source), bit_width(target)
    array = np.ascontiguousarray(array)
    if wide == narrow or (wide % 8 == 0 and narrow % 8 == 0):
        little = array.astype(array.dtype.newbyteorder("<"), copy=False) if array.dtype.kind != "V" else array
        return little.view(numpy_dtype(target))
    if max(wide, narrow) > 64 or "pred" in (source, target):
        raise UnsupportedError(f"bits of {source} as {target}")
    bits = array.view(f"u{array.dtype.itemsize}").astype(np.uint64) & np.uint64(2**wide - 1)
    if wide > narrow:
        places = np.arange(wide // narrow, dtype=np.uint64) * np.uint64(narrow)
        bits = ((bits[:, None] >> places) & np.uint64(2**narrow - 1)).reshape(-1)
    else:
        places = np.arange(narrow // wide, dtype=np.uint64) * np.uint64(wide)
        bits = np.bitwise_or.reduce(bits.reshape(-1, narrow // wide) << places, axis=1)
    dtype = numpy_dtype(target)
    held = bits.astype(f"u{dtype.itemsize}")
    if is_integer(dtype) and narrow < 8:
        # ml_dtypes keeps a signed element sign-extended in its byte.
        signed = not is_unsigned(dtype)
        top = np.int64(1 << (narrow - 1))
        return (((held.astype(np.int64) ^ top) - top) if signed else held).astype(dtype)
    return held.view(dtype)
