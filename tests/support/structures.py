"""Random programs of one operation on random shapes: data movement, reductions, windows, dots, convolutions.

:func:`programs` feeds the tests and the agreement table.  Sizes are small and often 0 or 1, which gives empty arrays
and windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from hlomap.dtypes import is_float, is_integer, numpy_dtype
from support.elements import COMPLEX, INTEGERS, SMALL, TYPES, Program, values
from support.text import commas

Rng = np.random.Generator
GeneratedProgram = tuple[str, str, list[np.ndarray]]
"""Text before the entry, the lines of the entry with ``ROOT``, and the arguments."""

# XLA stores these as pred, which its interface does not accept.
RUNNABLE = tuple(name for name in TYPES if name not in ("s1", "u1"))


def sizes_of(rng: Rng, rank: int, high: int = 6) -> list[int]:
    """Random sizes, sometimes 1 and rarely 0."""
    return [int(rng.choice([0, 1, n], p=[0.02, 0.15, 0.83])) for n in rng.integers(1, high + 1, rank)]


def filled(name: str, sizes: Sequence[int], rng: Rng) -> np.ndarray:
    """Random values of moderate size, since sums of large ones lose precision."""
    dtype = numpy_dtype(name)
    n = prod(sizes)
    if dtype == np.bool_:
        return rng.integers(0, 2, sizes).astype(bool)
    if is_integer(dtype):
        return rng.choice(values(name, 50, rng), n).reshape(sizes)
    if dtype.kind == "c":
        return (rng.normal(size=sizes) + 1j * rng.normal(size=sizes)).astype(dtype)
    return rng.normal(size=sizes).astype(dtype)


def _moved(lines: str, *arguments: np.ndarray) -> GeneratedProgram:
    return "", lines, list(arguments)


def transpose(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, sizes_of(rng, int(rng.integers(0, 5))), rng)
    order = rng.permutation(x.ndim).tolist()
    out = [x.shape[i] for i in order]
    return _moved(f"ROOT r = {name}[{commas(out)}] transpose(a), dimensions={{{commas(order)}}}", x)


def reverse(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, sizes_of(rng, int(rng.integers(1, 5))), rng)
    turned = [i for i in range(x.ndim) if rng.random() < 0.5]
    return _moved(f"ROOT r = {name}[{commas(x.shape)}] reverse(a), dimensions={{{commas(turned)}}}", x)


def broadcast(name: str, rng: Rng) -> GeneratedProgram:
    out = sizes_of(rng, int(rng.integers(0, 5)))
    kept = sorted(i for i in range(len(out)) if rng.random() < 0.5)
    x = filled(name, [out[i] for i in kept], rng)
    return _moved(f"ROOT r = {name}[{commas(out)}] broadcast(a), dimensions={{{commas(kept)}}}", x)


def concatenate(name: str, rng: Rng) -> GeneratedProgram:
    sizes = sizes_of(rng, int(rng.integers(1, 4)))
    along = int(rng.integers(len(sizes)))
    parts = [filled(name, [*sizes[:along], int(rng.integers(0, 5)), *sizes[along + 1 :]], rng) for _ in range(3)]
    sizes[along] = sum(p.shape[along] for p in parts)
    return _moved(f"ROOT r = {name}[{commas(sizes)}] concatenate(a, b, c), dimensions={{{along}}}", *parts)


def slice_(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, sizes_of(rng, int(rng.integers(1, 4)), 9), rng)
    cuts, out = [], []
    for size in x.shape:
        start, limit = sorted(int(i) for i in rng.integers(0, size + 1, 2))
        stride = int(rng.integers(1, 4))
        cuts.append(f"[{start}:{limit}:{stride}]")
        out.append(-((start - limit) // stride))
    return _moved(f"ROOT r = {name}[{commas(out)}] slice(a), slice={{{', '.join(cuts)}}}", x)


def pad(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, sizes_of(rng, int(rng.integers(1, 4))), rng)
    edges, out = [], []
    for size in x.shape:
        interior = int(rng.integers(0, 3))
        span = max(0, size + (size - 1) * interior) if size else 0
        low = int(rng.integers(-min(2, span), 4))
        high = int(rng.integers(-min(2, max(0, span + low)), 4))
        edges.append(f"{low}_{high}_{interior}")
        out.append(span + low + high)
    return _moved(f"ROOT r = {name}[{commas(out)}] pad(a, b), padding={'x'.join(edges)}", x, filled(name, [], rng))


def dynamic_slice(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, [max(1, n) for n in sizes_of(rng, int(rng.integers(1, 4)))], rng)
    cut = [int(rng.integers(0, size + 1)) for size in x.shape]
    index = str(rng.choice(["s32", "s64", "u8", "u32", "s8"]))
    offsets = [_offset(index, rng) for _ in cut]
    lines = f"ROOT r = {name}[{commas(cut)}] dynamic-slice({', '.join('abcd'[: 1 + len(cut)])})"
    return _moved(lines + f", dynamic_slice_sizes={{{commas(cut)}}}", x, *offsets)


def _offset(index: str, rng: Rng) -> np.ndarray:
    low = 0 if index.startswith("u") else -3
    return np.asarray(rng.integers(low, 9), numpy_dtype(index))


def dynamic_update_slice(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, [max(1, n) for n in sizes_of(rng, int(rng.integers(1, 4)))], rng)
    new = filled(name, [int(rng.integers(0, size + 1)) for size in x.shape], rng)
    offsets = [_offset("s32", rng) for _ in x.shape]
    names = ", ".join("abcde"[: 2 + len(offsets)])
    return _moved(f"ROOT r = {name}[{commas(x.shape)}] dynamic-update-slice({names})", x, new, *offsets)


def iota(name: str, rng: Rng) -> GeneratedProgram:
    sizes = sizes_of(rng, int(rng.integers(1, 4)), 40)
    return _moved(f"ROOT r = {name}[{commas(sizes)}] iota(), iota_dimension={int(rng.integers(len(sizes)))}")


def bitcast_convert(name: str, rng: Rng) -> GeneratedProgram:
    from hlomap.dtypes import bit_width

    other = str(rng.choice([t for t in RUNNABLE if t not in ("pred", *COMPLEX) and bit_width(t) >= 8]))
    if name in ("pred", *COMPLEX) or bit_width(name) < 8:
        name = "f32"
    sizes, here, there = [max(1, n) for n in sizes_of(rng, 2)], bit_width(name), bit_width(other)
    x = filled(name, sizes if here >= there else [*sizes, there // here], rng)
    out = [*sizes, here // there] if here > there else sizes
    return _moved(f"ROOT r = {other}[{commas(out)}] bitcast-convert(a)", x)


# --------------------------------------------------------------------------------------------------------------- folds


def _monoid(name: str, rng: Rng) -> str:
    names = ["maximum", "minimum"] if name not in COMPLEX else []
    names += ["and", "or"] if name == "pred" else ["add", "multiply"]
    names += ["and", "or", "xor"] if name in INTEGERS else []
    return str(rng.choice(names))


def _function(name: str, opcode: str) -> str:
    return f"f {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n  ROOT z = {name}[] {opcode}(x, y)\n}}\n"


def reduce(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, sizes_of(rng, int(rng.integers(1, 5)), 9), rng)
    axes = sorted(rng.choice(x.ndim, int(rng.integers(0, x.ndim + 1)), replace=False).tolist())
    out = [n for i, n in enumerate(x.shape) if i not in axes]
    opcode = _monoid(name, rng)
    init = np.asarray(_neutral(opcode, name))
    lines = f"ROOT r = {name}[{commas(out)}] reduce(a, b), dimensions={{{commas(axes)}}}, to_apply=f"
    return _function(name, opcode), lines, [x, init]


def _neutral(opcode: str, name: str) -> Any:
    """The neutral element, which XLA assumes the initial value to be."""
    from hlomap.ops._numpy.reduction import identity

    return np.asarray(identity(opcode, numpy_dtype(name)), numpy_dtype(name))


def arg_max(name: str, rng: Rng) -> GeneratedProgram:
    """Value and index of the maximum, as JAX emits it."""
    x = filled(name, [max(1, n) for n in sizes_of(rng, 2, 9)], rng)
    before = (
        f"f {{\n  v = {name}[] parameter(0)\n  i = s32[] parameter(1)\n  w = {name}[] parameter(2)\n"
        "  j = s32[] parameter(3)\n  gt = pred[] compare(v, w), direction=GT\n"
        "  ne = pred[] compare(v, v), direction=NE\n  t = pred[] or(gt, ne)\n"
        f"  eq = pred[] compare(v, w), direction=EQ\n  lt = pred[] compare(i, j), direction=LT\n"
        "  tie = pred[] and(eq, lt)\n  u = pred[] or(t, tie)\n"
        f"  a = {name}[] select(t, v, w)\n  b = s32[] select(u, i, j)\n  ROOT r = ({name}[], s32[]) tuple(a, b)\n}}\n"
    )
    lines = f"n = s32[{commas(x.shape)}] iota(), iota_dimension=1\n  z = s32[] constant(0)\n"
    lines += f"  ROOT r = ({name}[{x.shape[0]}], s32[{x.shape[0]}]) reduce(a, n, b, z), dimensions={{1}}, to_apply=f"
    return before, lines, [x, _neutral("maximum", name)]


def reduce_window(name: str, rng: Rng) -> GeneratedProgram:
    x = filled(name, [max(1, n) for n in sizes_of(rng, int(rng.integers(1, 4)), 8)], rng)
    window, out = _window(x.shape, rng)
    opcode = _monoid(name, rng)
    lines = f"ROOT r = {name}[{commas(out)}] reduce-window(a, b), window={{{window}}}, to_apply=f"
    return _function(name, opcode), lines, [x, _neutral(opcode, name)]


def _window(sizes: Sequence[int], rng: Rng) -> tuple[str, list[int]]:
    parts: dict[str, list[str]] = {"size": [], "stride": [], "pad": [], "lhs_dilate": [], "rhs_dilate": []}
    out = []
    for n in sizes:
        size, stride, dilation = (int(rng.integers(1, k)) for k in (4, 4, 3))
        base = int(rng.choice([1, 1, 2]))
        extent, span = (size - 1) * dilation + 1, (n - 1) * base + 1
        low = int(rng.integers(0, 3))
        high = int(rng.integers(0, 3)) + max(0, extent - span - low)
        out.append((span + low + high - extent) // stride + 1)
        for key, value in (("size", size), ("stride", stride), ("pad", f"{low}_{high}")):
            parts[key].append(str(value))
        parts["lhs_dilate"].append(str(base))
        parts["rhs_dilate"].append(str(dilation))
    return " ".join(f"{key}={'x'.join(value)}" for key, value in parts.items()), out


# ------------------------------------------------------------------------------------------------------------ products


def dot(name: str, rng: Rng) -> GeneratedProgram:
    n_batch, n_sum, n_left, n_right = (int(rng.integers(0, k)) for k in (3, 3, 3, 3))
    batch, summed = sizes_of(rng, n_batch, 4), sizes_of(rng, n_sum, 9)
    left, right = sizes_of(rng, n_left, 5), sizes_of(rng, n_right, 5)

    def side(free: list[int]) -> tuple[list[int], list[int], list[int]]:
        lengths = [*batch, *summed, *free]
        order = rng.permutation(len(lengths)).tolist()
        position_of = {source: at for at, source in enumerate(order)}
        shape = [lengths[i] for i in order]
        return shape, [position_of[i] for i in range(n_batch)], [position_of[n_batch + i] for i in range(n_sum)]

    (a, a_batch, a_sum), (b, b_batch, b_sum) = side(left), side(right)
    # Free dimensions keep the order that they have in the operand.
    free_a = [n for i, n in enumerate(a) if i not in a_batch + a_sum]
    free_b = [n for i, n in enumerate(b) if i not in b_batch + b_sum]
    sets = zip(
        ("lhs_batch", "rhs_batch", "lhs_contracting", "rhs_contracting"), (a_batch, b_batch, a_sum, b_sum), strict=True
    )
    attributes = "".join(f", {key}_dims={{{commas(dims)}}}" for key, dims in sets)
    out = commas([*batch, *free_a, *free_b])
    return _moved(f"ROOT r = {name}[{out}] dot(a, b){attributes}", filled(name, a, rng), filled(name, b, rng))


def convolution(name: str, rng: Rng) -> GeneratedProgram:
    rank = int(rng.integers(0, 3))
    groups = int(rng.choice([1, 1, 2, 3]))
    by_batch = rng.random() < 0.3
    features, outputs, batch = int(rng.integers(1, 4)), int(rng.integers(1, 3)) * groups, int(rng.integers(1, 3))
    spatial = [int(n) for n in rng.integers(1, 7, rank)]
    parts: dict[str, list[str]] = {k: [] for k in ("size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal")}
    kernel, out = [], []
    for n in spatial:
        size, stride, dilation, base = (int(rng.integers(1, k)) for k in (4, 3, 3, 3))
        extent, span = (size - 1) * dilation + 1, (n - 1) * base + 1
        low = int(rng.integers(-1 if span > 1 else 0, 3))
        high = int(rng.integers(0, 3)) + max(0, extent - span - low)
        kernel.append(size)
        out.append((span + low + high - extent) // stride + 1)
        found = (size, stride, f"{low}_{high}", base, dilation, int(rng.random() < 0.3))
        for key, value in zip(parts, found, strict=True):
            parts[key].append(str(value))
    window = " ".join(f"{key}={'x'.join(value)}" for key, value in parts.items())
    image = {"b": batch * (groups if by_batch else 1), "f": features * (1 if by_batch else groups)}
    weights = {"i": features, "o": outputs}
    result = {"b": batch, "f": outputs}

    def ordered(sizes: dict[str, int], lengths: list[int]) -> tuple[str, list[int]]:
        letters = [*sizes, *map(str, range(rank))]
        rng.shuffle(letters)
        return "".join(letters), [sizes[c] if c in sizes else lengths[int(c)] for c in letters]

    (x_label, x), (k_label, k), (o_label, o) = ordered(image, spatial), ordered(weights, kernel), ordered(result, out)
    lines = f"ROOT r = {name}[{commas(o)}] convolution(a, b), "
    lines += f"window={{{window}}}, " if rank else ""
    lines += f"dim_labels={x_label}_{k_label}->{o_label}"
    lines += f", {'batch' if by_batch else 'feature'}_group_count={groups}" if groups > 1 else ""
    return _moved(lines, filled(name, x, rng), filled(name, k, rng))


_NO_COMPLEX = tuple(name for name in RUNNABLE if name not in COMPLEX)
_ORDERED = tuple(name for name in _NO_COMPLEX if name != "pred")
_LARGER = tuple(name for name in RUNNABLE if name not in (*SMALL, "pred", "s2", "u2"))
GENERATORS: dict[str, tuple[Callable[[str, Rng], GeneratedProgram], tuple[str, ...]]] = {
    "transpose": (transpose, RUNNABLE),
    "reverse": (reverse, RUNNABLE),
    "broadcast": (broadcast, RUNNABLE),
    "concatenate": (concatenate, RUNNABLE),
    "slice": (slice_, RUNNABLE),
    "pad": (pad, RUNNABLE),
    "dynamic-slice": (dynamic_slice, RUNNABLE),
    "dynamic-update-slice": (dynamic_update_slice, RUNNABLE),
    "iota": (iota, tuple(name for name in RUNNABLE if name != "pred")),
    "bitcast-convert": (bitcast_convert, RUNNABLE),
    "reduce": (reduce, RUNNABLE),
    "reduce (variadic)": (arg_max, _ORDERED),
    "reduce-window": (reduce_window, RUNNABLE),
    "dot": (dot, _LARGER),
    "convolution": (convolution, tuple(name for name in _LARGER if name not in ("s4", "u4"))),
}


def programs(seed: int = 0, n: int = 2) -> Iterator[Program]:
    """``n`` programs of each operation on each type."""
    rng = np.random.default_rng(seed)
    for opcode, (make, types) in GENERATORS.items():
        for name in types:
            for _ in range(n):
                yield program(opcode, name, make, rng)


def program(opcode: str, name: str, make: Callable[[str, Rng], GeneratedProgram], rng: Rng) -> Program:
    """One random program."""
    before, lines, arguments = make(name, rng)
    text = f"HloModule m\n{before}ENTRY e {{\n"
    for k, x in enumerate(arguments):
        text += f"  {'abcdefg'[k]} = {_name_of(x, name)}[{commas(x.shape)}] parameter({k})\n"
    return Program(opcode, name, text + f"  {lines}\n}}\n", tuple(arguments))


def _name_of(x: np.ndarray, name: str) -> str:
    for known in (name, *TYPES):
        if numpy_dtype(known) == x.dtype:
            return known
    raise AssertionError(f"no name for {x.dtype}")


def bound(program: Program) -> float:
    """The allowed disagreement in ulps, from the number of terms of a sum and the result type."""
    dtype = numpy_dtype(program.dtype) if "->" not in program.dtype else None
    if dtype is None or not (is_float(dtype) or dtype.kind == "c"):
        return 0
    return {"reduce": 64, "reduce-window": 64, "dot": 64, "convolution": 64}.get(program.opcode, 0)
