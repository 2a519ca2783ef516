"""Programs of one elementwise operation each, on values that include all special values of their type.

:func:`programs` feeds the tests and the agreement table.  Binary operations get all pairs of special values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hlomap.base.dtypes import is_float, is_integer, is_unsigned, numpy_dtype
from hlomap.ops._numpy.numeric import width_of
from support.text import commas

SIGNED = ("s1", "s2", "s4", "s8", "s16", "s32", "s64")
UNSIGNED = ("u1", "u2", "u4", "u8", "u16", "u32", "u64")
SMALL = (
    *("f8e5m2", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "f8e3m4", "f8e8m0fnu"),
    "f4e2m1fn",
)
FLOATS = ("f16", "bf16", "f32", "f64", *SMALL)
COMPLEX = ("c64", "c128")
TYPES = ("pred", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)
INTEGERS = (*SIGNED, *UNSIGNED)

UNARY = {
    **dict.fromkeys(("abs", "sign"), (*SIGNED, *UNSIGNED, *FLOATS, *COMPLEX)),
    **dict.fromkeys(("negate",), (*INTEGERS, *FLOATS, *COMPLEX)),
    **dict.fromkeys(("not",), ("pred", *INTEGERS)),
    **dict.fromkeys(("popcnt", "count-leading-zeros"), INTEGERS),
    **dict.fromkeys(("ceil", "floor", "is-finite", "round-nearest-afz", "round-nearest-even"), FLOATS),
    **dict.fromkeys(("real", "imag"), (*FLOATS, *COMPLEX)),
    **dict.fromkeys(
        ("exponential", "exponential-minus-one", "log", "log-plus-one", "logistic", "sqrt", "rsqrt", "cbrt", "sine"),
        (*FLOATS, *COMPLEX),
    ),
    **dict.fromkeys(("cosine", "tan", "tanh", "erf", "acos", "acosh", "asin"), (*FLOATS, *COMPLEX)),
    **dict.fromkeys(("asinh", "atanh", "cosh", "sinh"), (*FLOATS, *COMPLEX)),
    "copy": TYPES,
}
BINARY = {
    **dict.fromkeys(("add", "multiply"), TYPES),
    **dict.fromkeys(("subtract",), (*INTEGERS, *FLOATS, *COMPLEX)),
    **dict.fromkeys(("divide", "power"), (*INTEGERS, *FLOATS, *COMPLEX)),
    **dict.fromkeys(("remainder",), (*INTEGERS, *FLOATS)),
    **dict.fromkeys(("maximum", "minimum"), ("pred", *INTEGERS, *FLOATS)),
    **dict.fromkeys(("and", "or", "xor"), ("pred", *INTEGERS)),
    **dict.fromkeys(("shift-left", "shift-right-arithmetic", "shift-right-logical"), INTEGERS),
    "atan2": (*FLOATS, *COMPLEX),
    "complex": ("f32", "f64"),
    "mulhi": INTEGERS,
}
DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


@dataclass(frozen=True)
class Program:
    """A program with its opcode, element type and arguments."""

    opcode: str
    dtype: str
    text: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.opcode}-{self.dtype}"


def corners(name: str) -> np.ndarray:
    """The special values of a type: zeros, extremes, infinities, NaN and the like."""
    dtype = numpy_dtype(name)
    if dtype == np.bool_:
        return np.array([False, True])
    if is_integer(dtype):
        width = width_of(dtype)
        low, high = (0, 2**width - 1) if is_unsigned(dtype) else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
        near = {low, low + 1, high, high - 1, 0, 1, -1, 2, 3, -3, 7, -8, width - 1, width, width + 1, 100, high // 3}
        held = np.uint64 if name == "u64" else np.int64
        return np.array(sorted(x for x in near if low <= x <= high), held).astype(dtype)
    if dtype.kind == "c":
        parts = corners("f32" if name == "c64" else "f64")
        # XLA's complex functions are as C++ has them where no part is a limit of the type.
        parts = parts[np.isfinite(parts) & (np.abs(parts) < 1e3) & ((np.abs(parts) > 1e-3) | (parts == 0))]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    import ml_dtypes

    limits = ml_dtypes.finfo(dtype)
    exact = [
        0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 2, 3, -3, 0.1, 3.14159274, -6, 20, 100, -1000, 1e-3, 12345.678,
    ]  # fmt: skip
    exact += [88.8, -104, 710, float("inf"), float("-inf"), float("nan")]
    exact += [float(x) for x in (limits.max, limits.min, limits.smallest_normal, limits.smallest_subnormal, limits.eps)]
    with np.errstate(all="ignore"):
        return np.array(exact, np.float64).astype(dtype)


def values(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Special values, then random values over the range of the type."""
    dtype = numpy_dtype(name)
    if dtype == np.bool_:
        random = rng.integers(0, 2, n).astype(dtype)
    elif is_integer(dtype):
        random = (
            rng.integers(0, 2**63, n, dtype=np.uint64).astype(np.int64).astype(np.int32 if dtype.kind == "V" else dtype)
        )
        random = (random >> rng.integers(0, width_of(dtype), n).astype(random.dtype)).astype(dtype)
    elif dtype.kind == "c":
        random = (rng.normal(size=n) * 3 + 1j * rng.normal(size=n) * 3).astype(dtype)
    else:
        random = (rng.normal(size=n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    return np.concatenate([corners(name), random])


def pairs(name: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of special values, then random ones."""
    special = corners(name)
    if len(special) > 40:
        special = special[:: len(special) // 40 + 1]
    first, second = (x.reshape(-1) for x in np.meshgrid(special, special, indexing="ij"))
    a, b = values(name, n, rng), values(name, n, rng)
    rng.shuffle(b)
    return np.concatenate([first, a]), np.concatenate([second, b])


def programs(seed: int = 0, n: int = 150) -> Iterator[Program]:
    """Every elementwise operation on every type that it takes."""
    rng = np.random.default_rng(seed)
    for opcode, types in UNARY.items():
        for name in types:
            yield elementwise(opcode, name, values(name, n, rng))
    for opcode, types in BINARY.items():
        for name in types:
            yield elementwise(opcode, name, *pairs(name, n, rng))
    for name in TYPES:
        kinds = ["", ", type=TOTALORDER"] if name in FLOATS else [""]
        for direction in DIRECTIONS[:2] if name in COMPLEX else DIRECTIONS:
            for kind in kinds:
                call = f"compare(a, b), direction={direction}{kind}"
                yield _program("compare", name, "pred", call, *pairs(name, n, rng))
        yield _clamp_or_select("select", "pred", name, n, rng)
        if name not in COMPLEX:
            yield _clamp_or_select("clamp", name, name, n, rng)
        for other in TYPES:
            if not (name in COMPLEX and other not in COMPLEX):
                yield _program("convert", name, other, "convert(a)", values(name, n, rng))
    for name in ("f16", "bf16", "f32", "f64"):
        for exponent, mantissa in ((5, 10), (8, 7), (4, 3), (5, 2), (8, 23), (11, 52), (1, 0), (6, 4)):
            call = f"reduce-precision(a), exponent_bits={exponent}, mantissa_bits={mantissa}"
            yield _program("reduce-precision", name, name, call, values(name, n, rng))


def elementwise(opcode: str, name: str, *arguments: np.ndarray) -> Program:
    """An operation of :data:`UNARY` or :data:`BINARY` on arguments of a type."""
    out = "pred" if opcode == "is-finite" else name
    if opcode in ("abs", "real", "imag") and name in COMPLEX:
        out = "f32" if name == "c64" else "f64"
    if opcode == "complex":
        out = {"f32": "c64", "f64": "c128"}[name]
    return _program(opcode, name, out, f"{opcode}({', '.join('ab'[: len(arguments)])})", *arguments)


def _clamp_or_select(opcode: str, first: str, name: str, n: int, rng: np.random.Generator) -> Program:
    a, b = pairs(name, n, rng)
    c = b.copy()
    rng.shuffle(c)
    arguments = (rng.integers(0, 2, len(a)).astype(bool), a, c) if first == "pred" else (a, b, c)
    return _program(opcode, name, name, f"{opcode}(a, b, c)", *arguments)


def _program(opcode: str, name: str, out: str, call: str, *arguments: np.ndarray) -> Program:
    made = program_of(opcode, name, f"ROOT r = {out}[{len(arguments[0])}] {call}", arguments)
    return replace(made, dtype=f"{name}->{out}") if opcode == "convert" else made


def program_of(opcode: str, name: str, lines: str, arguments: Sequence[np.ndarray], before: str = "") -> Program:
    """A program whose entry has these lines after the parameters a, b, …, and this text before the entry."""
    text = f"HloModule m\n{before}ENTRY e {{\n"
    for k, x in enumerate(arguments):
        # Of two names with one dtype, that of the program.
        kind = next(known for known in (name, *TYPES) if numpy_dtype(known) == x.dtype)
        text += f"  {'abcdefg'[k]} = {kind}[{commas(x.shape)}] parameter({k})\n"
    return Program(opcode, name, text + f"  {lines}\n}}\n", tuple(arguments))


def disagreement(found: Any, expected: Any) -> float | str:
    """0 if bits agree (all NaN are equal), else the largest distance in ulps, or a description of the difference."""
    a, b = np.asarray(found), np.asarray(expected)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}"
    if a.dtype.kind == "c":
        return _of_complex(a.reshape(-1), b.reshape(-1))
    if not is_float(a.dtype):
        wrong = int((a != b).sum())
        return f"{wrong} of {a.size}" if wrong else 0
    import ml_dtypes

    limits = ml_dtypes.finfo(a.dtype)
    x, y = a.astype(np.float64).reshape(-1), b.astype(np.float64).reshape(-1)
    nan = np.isnan(x) | np.isnan(y)
    if (np.isnan(x) != np.isnan(y)).any():
        return "nan"
    same = (x == y) | nan
    if (np.signbit(x) != np.signbit(y))[same & ~nan].any():
        return "sign of zero"
    if (np.isinf(x) != np.isinf(y))[~same].any():
        return "infinity"
    if same.all():
        return 0
    unit = np.maximum(
        2.0 ** np.floor(np.log2(np.maximum(np.abs(y), 1e-320))) * float(limits.eps), float(limits.smallest_subnormal)
    )
    return float((np.abs(x - y) / unit)[~same].max())


def _of_complex(a: np.ndarray, b: np.ndarray) -> float | str:
    """The distance in the complex plane, in ulps of the absolute value."""
    parts = np.float32 if a.dtype == np.complex64 else np.float64
    x, y = a.astype(np.complex128), b.astype(np.complex128)
    odd = ~(np.isfinite(x) & np.isfinite(y))
    if odd.any() and disagreement(a[odd].view(parts), b[odd].view(parts)) != 0:
        return "not finite"
    x, y = x[~odd], y[~odd]
    if not x.size:
        return 0
    unit = np.maximum(np.abs(y), float(np.finfo(parts).tiny)) * float(np.finfo(parts).eps)
    return float((np.abs(x - y) / unit).max())
