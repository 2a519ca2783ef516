"""XLA's arithmetic on NumPy arrays: element types, widening, and the functions whose results differ from NumPy's.

Integers wrap, integer division truncates and never traps, shifts by the width or more shift out every bit.  Types that
NumPy does not compute with well (those of ml_dtypes) are widened first and narrowed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

from ...base.dtypes import bit_width, is_float, is_integer, is_packed, is_unsigned, numpy_dtype
from ...base.lazy import np
from ...errors import ShapeError, UnsupportedError
from .._evaluation import Array


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type to compute in: the type itself if NumPy has it, else one of 32 bits."""
    if not is_packed(dtype):
        return dtype
    if is_float(dtype):
        return np.dtype(np.float32)
    return np.dtype(np.uint32 if is_unsigned(dtype) else np.int32)


def accumulated(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type to add up sums in: at least 32 bits."""
    work = widened(dtype)
    return np.dtype(np.float32) if work == np.float16 else work


def cast(x: Array, to: np.dtype[Any]) -> Array:
    """``astype``, also between types that ml_dtypes does not convert to each other."""
    if x.dtype.name == "float8_e8m0fnu" and to in (np.float64, np.complex128):
        # The smallest value is denormal in f32, through which ml_dtypes would convert it.
        exponent = x.view(np.uint8).astype(np.int32)
        return np.where(exponent == 255, np.nan, np.ldexp(1.0, exponent - 127)).astype(to)
    if is_packed(to) and x.dtype != to:
        if is_packed(x.dtype):
            x = x.astype(widened(x.dtype))
        if to.name == "float4_e2m1fn" and is_float(x.dtype):  # it has no NaN
            x = np.where(np.isnan(x), x.dtype.type(-0.0), x)
    if x.dtype.kind == "c" and to.kind != "c":
        raise ShapeError(f"expected {to}, found {x.dtype}")
    return x.astype(to)


def narrow_result(x: Array, to: np.dtype[Any]) -> Array:
    """A widened result in the narrow type: XLA computes eight-bit floats in f16, so they are rounded twice."""
    if to.itemsize == 1 and is_float(to) and x.dtype == np.float32 and to.name != "float8_e8m0fnu":
        x = x.astype(np.float16)
    return cast(x, to)


def wide(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function on widened arguments; a result in the wide type is narrowed to the type of the first argument."""

    def widening(first: Array, *rest: Array) -> Array:
        dtype = first.dtype
        if not is_packed(dtype):
            return function(first, *rest)
        to = widened(dtype)
        result = np.asarray(function(first.astype(to), *(x.astype(widened(x.dtype)) for x in rest)))
        return narrow_result(result, dtype) if result.dtype == to else result

    return widening


def width_of(dtype: np.dtype[Any]) -> int:
    """The bits of an element, also of a type with less than 8."""
    if is_packed(dtype) and is_integer(dtype):
        return int(dtype.name.lstrip("uint"))
    return dtype.itemsize * 8


# ---------------------------------------------------------------------------------------------------------- integers


def integer_limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The smallest and the largest number of an integer type."""
    n = 2 ** width_of(dtype)
    return (0, n - 1) if is_unsigned(dtype) else (-n // 2, n // 2 - 1)


def divide(a: Array, b: Array) -> Array:
    """Truncating division; by zero all bits are set, and lowest / -1 is lowest."""
    if not is_integer(a.dtype):
        return np.asarray(a / b)
    quotient, _ = _truncating_divmod(a, b)
    return np.where(b == 0, np.invert(np.zeros_like(a)), quotient)


def remainder(a: Array, b: Array) -> Array:
    """The remainder with the sign of the dividend; by zero it is the dividend."""
    if not is_integer(a.dtype):
        return np.fmod(a, b)
    _, rest = _truncating_divmod(a, b)
    return np.where(b == 0, a, rest)


def _truncating_divmod(a: Array, b: Array) -> tuple[Array, Array]:
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
    """Integer powers use the lowest six bits of the exponent and wrap; a negative exponent truncates the reciprocal."""
    if a.dtype.kind == "c":
        return _complex_power(a, b)
    if not is_integer(a.dtype):
        return np.power(a, b)
    one, total, base, exponent = np.ones_like(a), np.ones_like(a), a, b
    for _ in range(6):
        total = np.where(exponent & one, total * base, total)
        base, exponent = base * base, exponent >> one
    minus_one, is_odd = np.zeros_like(a) - one, (b & one) == one
    reciprocal = np.where(a == one, one, np.where(a == minus_one, np.where(is_odd, a, one), np.zeros_like(a)))
    # XLA interprets the sign bit of an unsigned exponent, too.
    negative = b.view(np.dtype(f"i{b.dtype.itemsize}")) < 0 if is_unsigned(b.dtype) else b < 0
    return np.where(negative, reciprocal, total)


def shift(left: bool, arithmetic: bool) -> Callable[[Array, Array], Array]:
    """A shift by an unsigned amount; an amount of the width or more shifts out every bit."""

    def shifted(a: Array, b: Array) -> Array:
        _require_integers(a, "shifts")
        width = width_of(a.dtype)
        work = a.astype(widened(a.dtype))
        if arithmetic and is_packed(a.dtype) and is_unsigned(a.dtype):
            top = work.dtype.type(1 << (width - 1))
            work = (work ^ top) - top
        bits = np.dtype(f"u{work.dtype.itemsize}")
        amount = b.astype(widened(b.dtype)).astype(bits)
        inside = (amount < width) & (b >= 0)
        amount = np.where(inside, amount, np.zeros_like(amount))
        if left:
            result = np.where(inside, (work.astype(bits) << amount).astype(work.dtype), np.zeros_like(work))
        elif arithmetic:
            signed = work.view(np.dtype(f"i{work.dtype.itemsize}")) if is_unsigned(a.dtype) else work
            last = np.full_like(amount, width - 1)
            result = (signed >> np.where(inside, amount, last).astype(signed.dtype)).astype(work.dtype)
        else:
            mask = bits.type(2**width - 1)
            result = np.where(inside, ((work.astype(bits) & mask) >> amount).astype(work.dtype), np.zeros_like(work))
        return np.asarray(result).astype(a.dtype)

    return shifted


def _require_integers(a: Array, what: str) -> None:
    """XLA's shape inference takes other numbers, too, and no backend computes with them."""
    if a.dtype != np.bool_ and not is_integer(a.dtype):
        raise UnsupportedError(f"{what} of {a.dtype.name}: only integers have bits to count")


def high_product(a: Array, b: Array) -> Array:
    """The upper half of the product in twice the width."""
    _require_integers(a, "the upper half of a product")
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
    """The number of zero bits above the highest set bit."""
    width = width_of(a.dtype)
    rest = a.astype(widened(a.dtype)).astype(np.uint64) & np.uint64(2**width - 1)
    used = np.zeros(a.shape, np.uint64)
    for step in (32, 16, 8, 4, 2, 1):
        big = rest >= np.uint64(1 << step)
        used = used + np.where(big, np.uint64(step), np.uint64(0))
        rest = np.where(big, rest >> np.uint64(step), rest)
    zeros: Array = np.uint64(width) - used - (rest != 0)
    return zeros.astype(a.dtype)


def popcount(a: Array) -> Array:
    """The number of set bits; for s4 those of the sign-extended byte, as XLA counts them."""
    width = 8 if a.dtype.name == "int4" else width_of(a.dtype)
    bits = a.astype(widened(a.dtype)).astype(np.uint64) & np.uint64(2**width - 1)
    count = np.unpackbits(bits.reshape(-1, 1).view(np.uint8), axis=1).sum(axis=1, dtype=np.int32)
    return cast(count.reshape(a.shape), a.dtype)


# ------------------------------------------------------------------------------------------------------------- floats


def erf(x: Array) -> Array:
    """2/sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!, whose terms have one sign; 1 beyond 6."""
    z = np.clip(x.astype(np.float64), -6.0, 6.0)
    term, total = z.copy(), z.copy()
    for n in range(1, 160):
        term = term * (2.0 * z * z / (2 * n + 1))
        total = total + term
    return np.where(np.abs(z) >= 6.0, np.sign(z), 2.0 / np.sqrt(np.pi) * np.exp(-z * z) * total).astype(x.dtype)


def round_half_away_from_zero(x: Array) -> Array:
    """The nearest integer, ties away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.sign(x), whole).astype(x.dtype)


def total_order_key(x: Array) -> Array:
    """Integers in the IEEE 754 total order of the floats: -NaN < -inf < ... < -0 < 0 < ... < inf < NaN."""
    if not is_float(x.dtype):
        return x
    x = x.astype(widened(x.dtype))
    size = x.dtype.itemsize
    bits = np.asarray(x, order="C").view(np.dtype(f"i{size}"))
    flip = np.array(2 ** (8 * size - 1) - 1, bits.dtype)
    return np.where(bits < 0, bits ^ flip, bits)


def sign(x: Array) -> Array:
    """-1, 0 or 1; zeros keep their sign, NaN stays NaN."""
    if is_float(x.dtype):
        return np.copysign(np.sign(x), x)
    return np.sign(x)


def maximum(a: Array, b: Array) -> Array:
    """NaN if either is NaN; 0 is greater than -0."""
    greater = np.asarray(np.maximum(a, b))
    if a.dtype.kind == "f":
        if _is_positive(b) or _is_positive(a):
            greater += a.dtype.type(0)
        else:
            np.add(a, b, out=greater, where=(a == 0) & (b == 0))
    return greater


def minimum(a: Array, b: Array) -> Array:
    """NaN if either is NaN; -0 is less than 0."""
    less = np.asarray(np.minimum(a, b))
    if a.dtype.kind == "f" and not (_is_nonzero(a) or _is_nonzero(b)):
        np.negative(np.subtract(-a, b), out=less, where=(a == 0) & (b == 0))
    return less


def _one_value(x: Array) -> Any:
    """The value of a scalar or of a broadcast scalar; None for other arrays."""
    return x[(0,) * x.ndim] if x.size and not any(x.strides) else None


def _is_nonzero(x: Array) -> bool:
    value = _one_value(x)
    return value is not None and value != 0


def _is_positive(x: Array) -> bool:
    value = _one_value(x)
    return value is not None and (value > 0 or (value == 0 and not np.signbit(value)))


def clamp(low: Array, x: Array, high: Array) -> Array:
    """``min(max(x, low), high)``."""
    return minimum(maximum(x, low), high)


def make_complex(real: Array, imaginary: Array) -> Array:
    """The complex array with these parts; ``a + 1j * b`` would multiply infinities by zero."""
    result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.result_type(real.dtype, np.complex64))
    result.real, result.imag = real, imaginary
    return result


def convert(x: Array, to: np.dtype[Any]) -> Array:
    """Conversion: floats truncate and saturate to integers, NaN becomes 0; integers wrap; nonzero values are true."""
    if to == np.bool_:
        if is_packed(x.dtype) and is_float(x.dtype):
            return np.asarray((x.view(np.dtype(f"u{x.dtype.itemsize}")) & _without_sign(x.dtype)) != 0)
        return np.asarray(x != np.zeros((), x.dtype))
    if x.dtype.kind == "c" and to.kind != "c":
        x = x.real
    if is_integer(to) and is_float(x.dtype):
        return _saturate(x, to)
    return cast(x, to)


def _without_sign(dtype: np.dtype[Any]) -> Any:
    """The mask of all bits of a float but the sign."""
    if dtype.name.endswith("fnuz") or dtype.name == "float8_e8m0fnu":
        return np.uint8(255)  # no negative zero: the sign bit alone is NaN
    return np.dtype(f"u{dtype.itemsize}").type(
        7 if dtype.name == "float4_e2m1fn" else 2 ** (8 * dtype.itemsize - 1) - 1
    )


def _saturate(x: Array, to: np.dtype[Any]) -> Array:
    """Floats to integers; limits are rounded to the source type, so that values at the rounded limit saturate, too."""
    (low, high), work = integer_limits(to), widened(to)
    if x.dtype.itemsize < 4:
        first, last = (float(np.array(end, np.float32).astype(x.dtype)) for end in (low, high))
    else:
        first, last = float(low), float(high)
    z = x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)
    above, below = z >= last, z <= first
    odd = above | below | np.isnan(z)
    kept = (np.where(odd, z.dtype.type(0), z) if odd.any() else z).astype(work)
    if odd.any():
        kept = np.where(above, np.array(high, work), np.where(below, np.array(low, work), kept))
    return kept.astype(to)


def reduce_precision(x: Array, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round to nearest even in a smaller format; underflow gives zero, overflow infinity."""
    if is_packed(x.dtype):
        return cast(reduce_precision(x.astype(np.float32), exponent_bits, mantissa_bits), x.dtype)
    size = x.dtype.itemsize
    own_mantissa = np.finfo(x.dtype).nmant
    own_exponent = 8 * size - 1 - own_mantissa
    bits_type = np.dtype(f"u{size}")
    bits = np.asarray(x, order="C").view(bits_type)
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


# ------------------------------------------------------------------------------------------------------------ complex
# The formulas are those of XLA, whose infinities and NaN differ from those of C.


def exponential(z: Array) -> Array:
    """e^a (cos b + i sin b), with e^(a/2) twice to overflow late; a zero imaginary part stays zero."""
    if z.dtype.kind != "c":
        return np.exp(z)
    half = np.exp(z.real / 2)
    imaginary = np.where(z.imag == 0, z.imag * 0, half * np.sin(z.imag) * half)
    return make_complex(half * np.cos(z.imag) * half, imaginary)


def power_of_two(z: Array) -> Array:
    """2^z; that of a complex number is e^(z ln 2)."""
    return exponential(z * z.dtype.type(np.log(2))) if z.dtype.kind == "c" else np.exp2(z)


def square_root(z: Array) -> Array:
    """The square root; that of a negative real number has a positive imaginary part, even for an operand with -0."""
    return np.sqrt(z + z.dtype.type(0)) if z.dtype.kind == "c" else np.sqrt(z)


def exponential_minus_one(z: Array) -> Array:
    """(e^a - 1) cos b + (cos b - 1), e^a sin b."""
    if z.dtype.kind != "c":
        return np.expm1(z)
    cosine = np.cos(z.imag)
    less = -2 * np.sin(z.imag / 2) ** 2
    imaginary = np.where(z.imag == 0, z.imag, np.exp(z.real) * np.sin(z.imag))
    return make_complex(np.expm1(z.real) * cosine + less, imaginary)


def _hyperbolic(x: Array) -> tuple[Array, Array]:
    up, down = np.exp(x), np.exp(-x)
    return (up + down) / 2, (up - down) / 2


def sine(z: Array) -> Array:
    """sin a cosh b + i cos a sinh b."""
    if z.dtype.kind != "c":
        return np.sin(z)
    even, odd = _hyperbolic(z.imag)
    return make_complex(np.sin(z.real) * even, np.cos(z.real) * odd)


def cosine(z: Array) -> Array:
    """cos a cosh b - i sin a sinh b."""
    if z.dtype.kind != "c":
        return np.cos(z)
    even, odd = _hyperbolic(z.imag)
    return make_complex(np.cos(z.real) * even, -np.sin(z.real) * odd)


def atan2(y: Array, x: Array) -> Array:
    """The angle of (x, y); of complex numbers -i log((x + i y) / sqrt(x^2 + y^2))."""
    if y.dtype.kind != "c":
        return np.arctan2(y, x)
    i = y.dtype.type(1j)
    return np.asarray(-i * np.log((x + i * y) / np.sqrt(x * x + y * y)), y.dtype)


def _complex_power(a: Array, b: Array) -> Array:
    """exp(b log a); a zero base gives 1 for a zero exponent, 0 for a positive real exponent."""
    with np.errstate(all="ignore"):
        size, angle = np.abs(a), np.angle(a)
        turned = b.imag * np.log(size) + b.real * angle
        scale = np.power(size, b.real) * np.exp(-b.imag * angle)
    general = make_complex(scale * np.cos(turned), scale * np.sin(turned))
    zero = (a == 0) & (b.imag == 0) & (b.real >= 0)
    return np.where(zero, np.where(b.real == 0, np.ones_like(a), np.zeros_like(a)), general)


# --------------------------------------------------------------------------------------------------------------- bits


def reinterpret_bits(array: Array, source: str, target: str) -> Array:
    """The bits of a row of elements as elements of another type, the lowest bits first."""
    wide, narrow = bit_width(source), bit_width(target)
    array = np.asarray(array, order="C")
    if wide == narrow or (wide % 8 == 0 and narrow % 8 == 0):
        little = array.astype(array.dtype.newbyteorder("<"), copy=False) if not is_packed(array.dtype) else array
        return little.view(numpy_dtype(target))
    if max(wide, narrow) > 64 or "pred" in (source, target):
        raise UnsupportedError(f"reading the bits of {source} as {target} is not supported")
    bits = array.view(f"u{array.dtype.itemsize}").astype(np.uint64) & np.uint64(2**wide - 1)
    if wide > narrow:
        shifts = np.arange(wide // narrow, dtype=np.uint64) * np.uint64(narrow)
        bits = ((bits[:, None] >> shifts) & np.uint64(2**narrow - 1)).reshape(-1)
    else:
        shifts = np.arange(narrow // wide, dtype=np.uint64) * np.uint64(wide)
        bits = np.bitwise_or.reduce(bits.reshape(-1, narrow // wide) << shifts, axis=1)
    dtype = numpy_dtype(target)
    held = bits.astype(f"u{dtype.itemsize}")
    if is_integer(dtype) and narrow < 8:
        # ml_dtypes stores a signed element sign-extended in its byte.
        signed = not is_unsigned(dtype)
        top = np.int64(1 << (narrow - 1))
        return (((held.astype(np.int64) ^ top) - top) if signed else held).astype(dtype)
    return held.view(dtype)


def take_writable(operands: list[Any], k: int) -> Array:
    """Operand k itself if it has no other user, else a copy, so that a loop that fills an array does not copy it.

    Every user of an array, or of a view of it, holds a reference to it.
    """
    is_owned = operands[k].flags.owndata and operands[k].flags.writeable
    if is_owned and getrefcount(operands[k]) <= 2:
        return operands[k]  # type: ignore[no-any-return]
    return np.array(operands[k])
