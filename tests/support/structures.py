"""Random programs of one operation on random shapes: moves, sums, products, index vectors, order, library routines.

:func:`programs` feeds the tests and the agreement table.  Sizes are small and often 0 or 1, which gives empty arrays
and windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from hlomap.base.dtypes import is_integer, numpy_dtype
from support.elements import COMPLEX, FLOATS, INTEGERS, SMALL, TYPES, Program, program_of, values
from support.text import commas

Rng = np.random.Generator
GeneratedProgram = tuple[str, str, list[np.ndarray]]
"""Text before the entry, the lines of the entry with ``ROOT``, and the arguments."""

# XLA stores these as pred, which its interface does not accept.
_REAL = ("f32", "f64")
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
    from hlomap.base.dtypes import bit_width

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
    """Of two scalars; without an opcode the second one."""
    root = f"  ROOT z = {name}[] {opcode}(x, y)\n" if opcode else ""
    return f"f {{\n  x = {name}[] parameter(0)\n  {'' if root else 'ROOT '}y = {name}[] parameter(1)\n{root}}}\n"


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


# ----------------------------------------------------------------------------------------------------- index vectors

_INDEX_TYPES = ("s8", "s32", "s64", "u8", "u32", "u64")


class Vectors:
    """The dimensions of an array that index vectors address, and the dimension of the vectors."""

    def __init__(self, rng: Rng) -> None:
        rank = int(rng.integers(1, 5))
        self.sizes = [int(n) for n in rng.integers(1, 5, rank)]
        dims = [int(i) for i in rng.permutation(rank)]
        n_paired = int(rng.integers(0, min(2, rank) + 1)) if rng.random() < 0.4 else 0
        self.paired, others = sorted(dims[:n_paired]), dims[n_paired:]
        low = 0 if n_paired else 1
        self.starts = others[: int(rng.integers(low, len(others) + 1))]
        self.gone = sorted(p for p in others if rng.random() < 0.5)
        alone = {*self.paired, *self.gone}
        self.extents = [1 if p in alone else int(rng.integers(1, self.sizes[p] + 1)) for p in range(rank)]
        self.kept = [p for p in range(rank) if p not in alone]
        tags = [("vector", int(n)) for n in rng.integers(1, 4, int(rng.integers(0, 3)))]
        tags += [("paired", p) for p in self.paired]
        tags = [tags[int(i)] for i in rng.permutation(len(tags))]
        self.shape = [n if kind == "vector" else self.sizes[n] for kind, n in tags]
        trailing = len(self.starts) == 1 and rng.random() < 0.4
        self.along = len(self.shape) if trailing else int(rng.integers(0, len(self.shape) + 1))
        self.full = list(self.shape)
        if not trailing:
            self.full.insert(self.along, len(self.starts))
        at = {p: k + (not trailing and k >= self.along) for k, (kind, p) in enumerate(tags) if kind == "paired"}
        self.pairs = [int(at[p]) for p in self.paired]
        self.dtype = str(rng.choice(_INDEX_TYPES))
        self.indices = self._draw_indices(rng)
        # The window dimensions lie between the vector dimensions in any order.
        total = len(self.shape) + len(self.kept)
        self.windows = sorted(int(i) for i in rng.choice(total, len(self.kept), replace=False))
        self.windows_shape = [0] * total
        for p, o in zip(self.kept, self.windows, strict=True):
            self.windows_shape[o] = self.extents[p]
        rest = (o for o in range(total) if o not in self.windows)
        for n, o in zip(self.shape, rest, strict=True):
            self.windows_shape[o] = n

    def _draw_indices(self, rng: Rng) -> np.ndarray:
        dtype = numpy_dtype(self.dtype)
        drawn = rng.integers(0 if dtype.kind == "u" else -3, 6, self.full).astype(dtype)
        if rng.random() < 0.3:
            far = np.iinfo(dtype).max if rng.random() < 0.5 else np.iinfo(dtype).min
            drawn = np.where(rng.random(self.full) < 0.3, np.array(far, dtype), drawn)
        return np.asarray(drawn)


def gather(name: str, rng: Rng) -> GeneratedProgram:
    v = Vectors(rng)
    paired = f"operand_batching_dims={{{commas(v.paired)}}}, start_indices_batching_dims={{{commas(v.pairs)}}}, "
    lines = (
        f"ROOT r = {name}[{commas(v.windows_shape)}] gather(a, b), offset_dims={{{commas(v.windows)}}}, "
        f"collapsed_slice_dims={{{commas(v.gone)}}}, start_index_map={{{commas(v.starts)}}}, "
        f"{paired if v.paired else ''}index_vector_dim={v.along}, slice_sizes={{{commas(v.extents)}}}"
    )
    return _moved(lines, filled(name, v.sizes, rng), v.indices)


def scatter(name: str, rng: Rng) -> GeneratedProgram:
    """Of one array, or of two whose updates are combined with each other's."""
    v = Vectors(rng)
    paired = f"input_batching_dims={{{commas(v.paired)}}}, scatter_indices_batching_dims={{{commas(v.pairs)}}}, "
    attributes = (
        f"update_window_dims={{{commas(v.windows)}}}, inserted_window_dims={{{commas(v.gone)}}}, "
        f"scatter_dims_to_operand_dims={{{commas(v.starts)}}}, {paired if v.paired else ''}"
        f"index_vector_dim={v.along}, to_apply=f"
    )
    opcodes = ["or"] if name == "pred" else ["add", "multiply", "subtract"]
    opcodes += [] if name in ("pred", *COMPLEX) else ["maximum", "minimum"]
    operand, update = f"{name}[{commas(v.sizes)}]", [filled(name, v.windows_shape, rng) for _ in range(2)]
    first, second = (filled(name, v.sizes, rng) for _ in range(2))
    if name == "pred" or rng.random() < 0.7:
        before = _function(name, str(rng.choice([*opcodes, ""])))
        return before, f"ROOT r = {operand} scatter(a, b, c), {attributes}", [first, v.indices, update[0]]
    before = "f {\n" + "".join(f"  {x} = {name}[] parameter({k})\n" for k, x in enumerate("abcd"))
    before += f"  x = {name}[] subtract(c, b)\n  y = {name}[] add(a, d)\n"
    before += f"  ROOT r = ({name}[], {name}[]) tuple(x, y)\n}}\n"
    lines = f"ROOT r = ({operand}, {operand}) scatter(a, b, c, d, e), {attributes}"
    return before, lines, [first, second, v.indices, *update]


# ------------------------------------------------------------------------------------------------------ order, steps


def _with_ties(name: str, sizes: Sequence[int], rng: Rng) -> np.ndarray:
    """Few different values; of wide floats also NaN, infinities and zeros of either sign."""
    x = filled(name, sizes, rng)
    x = np.asarray(rng.choice(x.reshape(-1), x.size).reshape(x.shape) if x.size else x)
    which = rng.integers(0, 20, x.shape)
    for k, value in enumerate((np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0)):
        if name in ("f16", "bf16", *_REAL):
            x = np.where(which == k, np.array(value, x.dtype), x)
    return x


def sort(name: str, rng: Rng) -> GeneratedProgram:
    """Keys with ties together with their positions, which shows whether a sort is stable."""
    x = _with_ties(name, sizes_of(rng, int(rng.integers(1, 4)), 9), rng)
    along = int(rng.integers(x.ndim))
    direction = rng.choice(["LT", "GT"])
    kind = ", type=TOTALORDER" if name in FLOATS else ""
    before = (
        f"f {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n  i = s32[] parameter(2)\n"
        f"  j = s32[] parameter(3)\n  ROOT r = pred[] compare(x, y), direction={direction}{kind}\n}}\n"
    )
    shape = commas(x.shape)
    lines = f"n = s32[{shape}] iota(), iota_dimension={along}\n"
    lines += f"  ROOT r = ({name}[{shape}], s32[{shape}]) sort(a, n), dimensions={{{along}}}, "
    return before, lines + "is_stable=true, to_apply=f", [x]


def top_k(name: str, rng: Rng) -> GeneratedProgram:
    x = _with_ties(name, [int(n) for n in rng.integers(1, 9, int(rng.integers(1, 3)))], rng)
    k, largest = int(rng.integers(1, x.shape[-1] + 1)), rng.choice(["true", "false"])
    kept = commas([*x.shape[:-1], k])
    return _moved(f"ROOT r = ({name}[{kept}], s32[{kept}]) topk(a), k={k}, largest={largest}", x)


def select_and_scatter(name: str, rng: Rng) -> GeneratedProgram:
    """With ties in one dimension alone: in which order XLA visits a window of several depends on what it fuses."""
    sizes: list[int] = []
    output, windows = [], []
    while len(sizes) < 1 or (len(sizes) < 3 and rng.random() < 0.6):
        n, size, stride, low, high = (int(i) for i in (*rng.integers(1, [7, 4, 4]), *rng.integers(0, 3, 2)))
        if (slack := n + low + high - size) >= 0:
            sizes.append(n)
            output.append(slack // stride + 1)
            windows.append((size, stride, f"{low}_{high}"))
    columns = ["x".join(map(str, column)) for column in zip(*windows, strict=True)]
    before = _function(name, "add") + (
        f"sel {{\n  x = {name}[] parameter(0)\n  y = {name}[] parameter(1)\n"
        f"  ROOT r = pred[] compare(x, y), direction={rng.choice(['GE', 'LE', 'GT'])}\n}}\n"
    )
    window = f"window={{size={columns[0]} stride={columns[1]} pad={columns[2]}}}"
    lines = f"ROOT r = {name}[{commas(sizes)}] select-and-scatter(a, b, c), {window}, select=sel, scatter=f"
    operand = rng.integers(0, 5, sizes) if len(sizes) == 1 else rng.permutation(prod(sizes)).reshape(sizes)
    numbers = operand, rng.integers(0, 5, output), rng.integers(0, 5, [])
    return before, lines, [x.astype(numpy_dtype(name)) for x in numbers]


def scan(name: str, rng: Rng) -> GeneratedProgram:
    along, sizes = int(rng.integers(2)), [3, 3]
    sizes[along] = int(rng.integers(1, 5))
    step = (
        f"f {{\n  x = {name}[3] parameter(0)\n  c = {name}[3] parameter(1)\n  y = {name}[3] multiply(x, c)\n"
        f"  n = {name}[3] add(x, c)\n  ROOT r = ({name}[3], {name}[3]) tuple(y, n)\n}}\n"
    )
    attributes = f"dimensions={{{along}}}, num_carries=1, is_reverse={rng.choice(['true', 'false'])}, to_apply=f"
    lines = f"ROOT r = ({name}[{commas(sizes)}], {name}[3]) scan(a, b), {attributes}"
    return step, lines, [filled(name, sizes, rng), filled(name, [3], rng)]


# ---------------------------------------------------------------------------------------------------------- routines


def fft(name: str, rng: Rng) -> GeneratedProgram:
    kind = str(rng.choice(["FFT", "IFFT", "RFFT", "IRFFT"]))
    part = {"c64": "f32", "c128": "f64"}[name]
    lengths = [int(n) for n in rng.integers(1, 7, int(rng.integers(1, 4)))]
    batch = sizes_of(rng, int(rng.integers(0, 2)), 3)
    half = [*lengths[:-1], lengths[-1] // 2 + 1]
    source, target, given, out = name, name, lengths, lengths
    if kind == "RFFT":
        source, out = part, half
    elif kind == "IRFFT":
        target, given = part, half
    x = filled(source, [*batch, *given], rng)
    text = f"ROOT r = {target}[{commas([*batch, *out])}] fft(a), fft_type={kind}, fft_length={{{commas(lengths)}}}"
    return "", text, [x]


def _definite(name: str, sizes: list[int], rng: Rng) -> np.ndarray:
    x = filled(name, sizes, rng)
    definite = x @ np.swapaxes(x.conj(), -1, -2) + sizes[-1] * np.eye(sizes[-1], dtype=x.dtype)
    return definite.astype(x.dtype)


def cholesky(name: str, rng: Rng) -> GeneratedProgram:
    """Some real matrices are not positive definite, and the triangle that is not read has other numbers."""
    n = int(rng.integers(1, 6))
    sizes = [*sizes_of(rng, int(rng.integers(0, 2)), 3), n, n]
    is_lower = bool(rng.integers(2))
    noise, a = filled(name, sizes, rng), _definite(name, sizes, rng)
    a += np.triu(noise, 1) if is_lower else np.tril(noise, -1)
    if name in _REAL and rng.random() < 0.3:
        a -= 99 * np.eye(n, dtype=a.dtype)
    return "", f"ROOT r = {name}[{commas(sizes)}] cholesky(a), lower={str(is_lower).lower()}", [a]


def triangular_solve(name: str, rng: Rng) -> GeneratedProgram:
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    batch = sizes_of(rng, int(rng.integers(0, 2)), 3)
    left = bool(rng.integers(2))
    a, b = _definite(name, [*batch, n, n], rng), filled(name, [*batch, *([n, m] if left else [m, n])], rng)
    flags = ", ".join(f"{key}={'true' if rng.integers(2) else 'false'}" for key in ("lower", "unit_diagonal"))
    turned = rng.choice(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    lines = f"ROOT r = {name}[{commas(b.shape)}] triangular-solve(a, b), left_side={str(left).lower()}, {flags}, "
    return "", lines + f"transpose_a={turned}", [a, b]


def rng_bit_generator(name: str, rng: Rng) -> GeneratedProgram:
    """Most counters are about to overflow."""
    algorithm = str(rng.choice(["rng_three_fry", "rng_philox", "rng_default"]))
    n = 2 if algorithm == "rng_three_fry" else int(rng.choice([2, 3, 3]))
    sizes = sizes_of(rng, int(rng.integers(0, 4)), 9)
    state = rng.integers(0, 2**64, n, dtype=np.uint64)
    if rng.random() < 0.7:
        state[1] = np.uint64(2**64 - int(rng.integers(1, 4)))
    return "", f"ROOT r = (u64[{n}], {name}[{commas(sizes)}]) rng-bit-generator(a), algorithm={algorithm}", [state]


def batch_norm_inference(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(1, 5, 3)]
    along = int(rng.integers(3))
    x, rows = filled(name, sizes, rng), [filled(name, [sizes[along]], rng) for _ in range(3)]
    variance = np.abs(filled(name, [sizes[along]], rng)).astype(x.dtype)
    lines = f"ROOT r = {name}[{commas(sizes)}] batch-norm-inference(a, b, c, d, e), epsilon=0.001, "
    return "", lines + f"feature_index={along}", [x, *rows, variance]


def batch_norm_training(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(2, 6, 3)]
    along = int(rng.integers(3))
    row = f"{name}[{sizes[along]}]"
    lines = f"ROOT r = ({name}[{commas(sizes)}], {row}, {row}) batch-norm-training(a, b, c), epsilon=0.001, "
    arguments = [filled(name, sizes, rng), *(filled(name, [sizes[along]], rng) for _ in range(2))]
    return "", lines + f"feature_index={along}", arguments


def batch_norm_grad(name: str, rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(2, 6, 3)]
    along = int(rng.integers(3))
    row = f"{name}[{sizes[along]}]"
    x, dy = (filled(name, sizes, rng) for _ in range(2))
    scale, mean, variance = (filled(name, [sizes[along]], rng) for _ in range(3))
    lines = f"ROOT r = ({name}[{commas(sizes)}], {row}, {row}) batch-norm-grad(a, b, c, d, e), epsilon=0.01, "
    return "", lines + f"feature_index={along}", [x, scale, mean, np.abs(variance).astype(x.dtype), dy]


_NO_COMPLEX = tuple(name for name in RUNNABLE if name not in COMPLEX)
_ORDERED = tuple(name for name in _NO_COMPLEX if name != "pred")
_WHOLE_BYTES = tuple(name for name in RUNNABLE if name not in ("s2", "u2", "s4", "u4", "f4e2m1fn"))
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
    "gather": (gather, RUNNABLE),
    "scatter": (scatter, _WHOLE_BYTES),
    "sort": (sort, _NO_COMPLEX),
    "topk": (top_k, ("f32", "bf16", "s32", "f64", "f16", "u8")),
    "select-and-scatter": (select_and_scatter, tuple(n for n in _WHOLE_BYTES if n not in ("pred", *SMALL, *COMPLEX))),
    "scan": (scan, ("s32", *_REAL)),
    "fft": (fft, COMPLEX),
    "cholesky": (cholesky, (*_REAL, *COMPLEX)),
    "triangular-solve": (triangular_solve, (*_REAL, *COMPLEX)),
    "rng-bit-generator": (rng_bit_generator, ("u8", "u16", "u32", "u64")),
    "batch-norm-inference": (batch_norm_inference, ("f16", "bf16", *_REAL)),
    "batch-norm-training": (batch_norm_training, ("f16", "bf16", *_REAL)),
    "batch-norm-grad": (batch_norm_grad, ("f16", "bf16", *_REAL)),
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
    return program_of(opcode, name, lines, arguments, before)
