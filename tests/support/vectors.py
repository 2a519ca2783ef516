"""Random programs: gather, scatter, sort, top-k, scans, and the library routines of :mod:`support.tables`.

:data:`KINDS` maps each kind to a function that returns a text and its arguments.  Sizes are small and attributes
general: index vectors along any dimension, batching dimensions, indices far out of bounds, ties, NaN of both signs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support import structures, tables
from support.text import commas

Rng = np.random.Generator
GeneratedProgram = tuple[str, list[np.ndarray]]

F32 = np.dtype(np.float32)
INDEX_TYPES = {"s8": "i1", "s32": "i4", "s64": "i8", "u8": "u1", "u32": "u4", "u64": "u8"}


def chance(rng: Rng, p: float) -> bool:
    return bool(rng.random() < p)


def normal(rng: Rng, sizes: Sequence[int], dtype: Any = F32) -> np.ndarray:
    drawn = rng.standard_normal(sizes)
    if np.dtype(dtype).kind == "c":
        return np.asarray(drawn + 1j * rng.standard_normal(sizes)).astype(dtype)
    return np.asarray(drawn).astype(dtype)


def function(name: str, dtype: str, opcode: str) -> str:
    root = f"ROOT r = {dtype}[] {opcode}(a, b)" if opcode else ""
    second = "ROOT b" if not opcode else "b"
    return f"{name} {{\n a = {dtype}[] parameter(0)\n {second} = {dtype}[] parameter(1)\n {root}\n}}\n"


def module(functions: str, parameters: Sequence[str], root: str) -> str:
    lines = "".join(f" p{i} = {shape} parameter({i})\n" for i, shape in enumerate(parameters))
    return f"HloModule m\n{functions}ENTRY e {{\n{lines} ROOT out = {root}\n}}\n"


class Vectors:
    """The dimensions of an array that index vectors address, and the dimension of the vectors."""

    def __init__(self, rng: Rng) -> None:
        rank = int(rng.integers(1, 5))
        self.sizes = [int(n) for n in rng.integers(1, 5, rank)]
        dims = [int(i) for i in rng.permutation(rank)]
        n_paired = int(rng.integers(0, min(2, rank) + 1)) if chance(rng, 0.4) else 0
        self.paired, others = sorted(dims[:n_paired]), dims[n_paired:]
        low = 0 if n_paired else 1
        self.starts = others[: int(rng.integers(low, len(others) + 1))]
        self.gone = sorted(p for p in others if chance(rng, 0.5))
        alone = {*self.paired, *self.gone}
        self.extents = [1 if p in alone else int(rng.integers(1, self.sizes[p] + 1)) for p in range(rank)]
        self.kept = [p for p in range(rank) if p not in alone]
        tags = [("vector", int(n)) for n in rng.integers(1, 4, int(rng.integers(0, 3)))]
        tags += [("paired", p) for p in self.paired]
        tags = [tags[int(i)] for i in rng.permutation(len(tags))]
        self.shape = [n if kind == "vector" else self.sizes[n] for kind, n in tags]
        trailing = len(self.starts) == 1 and chance(rng, 0.4)
        self.along = len(self.shape) if trailing else int(rng.integers(0, len(self.shape) + 1))
        self.full = list(self.shape)
        if not trailing:
            self.full.insert(self.along, len(self.starts))
        at = {p: k + (not trailing and k >= self.along) for k, (kind, p) in enumerate(tags) if kind == "paired"}
        self.pairs = [int(at[p]) for p in self.paired]
        self.dtype = str(rng.choice(list(INDEX_TYPES)))
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
        dtype = np.dtype(INDEX_TYPES[self.dtype])
        drawn = rng.integers(0 if dtype.kind == "u" else -3, 6, self.full).astype(dtype)
        if chance(rng, 0.3):
            far = np.iinfo(dtype).max if chance(rng, 0.5) else np.iinfo(dtype).min
            drawn = np.where(rng.random(self.full) < 0.3, np.array(far, dtype), drawn)
        return np.asarray(drawn)


def gather(rng: Rng) -> GeneratedProgram:
    v = Vectors(rng)
    paired = f"operand_batching_dims={{{commas(v.paired)}}}, start_indices_batching_dims={{{commas(v.pairs)}}}, "
    attributes = (
        f"offset_dims={{{commas(v.windows)}}}, collapsed_slice_dims={{{commas(v.gone)}}}, "
        f"start_index_map={{{commas(v.starts)}}}, {paired if v.paired else ''}index_vector_dim={v.along}, "
        f"slice_sizes={{{commas(v.extents)}}}"
    )
    shapes = [f"f32[{commas(v.sizes)}]", f"{v.dtype}[{commas(v.full)}]"]
    return module("", shapes, f"f32[{commas(v.windows_shape)}] gather(p0, p1), {attributes}"), [
        normal(rng, v.sizes),
        v.indices,
    ]


def scatter(rng: Rng) -> GeneratedProgram:
    v = Vectors(rng)
    paired = f"input_batching_dims={{{commas(v.paired)}}}, scatter_indices_batching_dims={{{commas(v.pairs)}}}, "
    attributes = (
        f"update_window_dims={{{commas(v.windows)}}}, inserted_window_dims={{{commas(v.gone)}}}, "
        f"scatter_dims_to_operand_dims={{{commas(v.starts)}}}, {paired if v.paired else ''}"
        f"index_vector_dim={v.along}, to_apply=f"
    )
    operand, indices, update = (
        f"f32[{commas(v.sizes)}]",
        f"{v.dtype}[{commas(v.full)}]",
        f"f32[{commas(v.windows_shape)}]",
    )
    opcode = str(rng.choice(["add", "", "subtract", "maximum"]))
    arrays = [normal(rng, v.sizes), v.indices, normal(rng, v.windows_shape)]
    if chance(rng, 0.7):
        root = f"{operand} scatter(p0, p1, p2), {attributes}"
        return module(function("f", "f32", opcode), [operand, indices, update], root), arrays
    both = (
        "f {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] parameter(2)\n d = f32[] parameter(3)\n"
        " x = f32[] subtract(c, b)\n y = f32[] add(a, d)\n ROOT r = (f32[], f32[]) tuple(x, y)\n}\n"
    )
    root = f"({operand}, {operand}) scatter(p0, p1, p2, p3, p4), {attributes}"
    arrays = [arrays[0], normal(rng, v.sizes), v.indices, arrays[2], normal(rng, v.windows_shape)]
    return module(both, [operand, operand, indices, update, update], root), arrays


def special(rng: Rng, x: np.ndarray) -> np.ndarray:
    """The array with some elements replaced by NaN, infinities and zeros of either sign."""
    which = rng.integers(0, 20, x.shape)
    for k, value in enumerate((np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0)):
        x = np.where(which == k, np.array(value, x.dtype), x)
    return np.asarray(x)


ORDERED = {"f32": "f4", "f64": "f8", "f16": "f2", "s32": "i4", "u8": "u1"}


def with_ties(rng: Rng, name: str, sizes: Sequence[int]) -> np.ndarray:
    x = rng.integers(0, 5, sizes).astype(ORDERED[name])
    return special(rng, x * rng.choice([-1, 1], sizes).astype(x.dtype)) if name[0] == "f" else np.asarray(x)


def sort(rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(0 if chance(rng, 0.1) else 1, 9, int(rng.integers(1, 4)))]
    name, along = str(rng.choice(list(ORDERED))), int(rng.integers(len(sizes)))
    total = ", type=TOTALORDER" if name[0] == "f" else ""
    keys = f"{name}[{commas(sizes)}]"
    positions = f"s32[{commas(sizes)}]"
    direction = str(rng.choice(["LT", "GT"]))
    by_key = (
        f"f {{\n a = {name}[] parameter(0)\n b = {name}[] parameter(1)\n"
        f" x = s32[] parameter(2)\n y = s32[] parameter(3)\n"
        f" ROOT r = pred[] compare(a, b), direction={direction}{total}\n}}\n"
    )
    root = f"({keys}, {positions}) sort(p0, p1), dimensions={{{along}}}, is_stable=true, to_apply=f"
    numbers = np.arange(int(np.prod(sizes)), dtype=np.int32).reshape(sizes)
    return module(by_key, [keys, positions], root), [with_ties(rng, name, sizes), numbers]


def topk(rng: Rng) -> GeneratedProgram:
    sizes = [int(n) for n in rng.integers(1, 9, int(rng.integers(1, 3)))]
    k, name = int(rng.integers(1, sizes[-1] + 1)), str(rng.choice(["f32", "f64", "s32", "u8"]))
    kept = commas([*sizes[:-1], k])
    largest = str(rng.choice(["true", "false"]))
    root = f"({name}[{kept}], s32[{kept}]) topk(p0), k={k}, largest={largest}"
    return module("", [f"{name}[{commas(sizes)}]"], root), [with_ties(rng, name, sizes)]


def select_and_scatter(rng: Rng) -> GeneratedProgram:
    sizes, output, windows = [], [], []
    while len(sizes) < 1 or (len(sizes) < 3 and chance(rng, 0.6)):
        n, size, stride, low, high = (int(i) for i in (*rng.integers(1, [7, 4, 4]), *rng.integers(0, 3, 2)))
        if (slack := n + low + high - size) >= 0:
            sizes.append(n)
            output.append(slack // stride + 1)
            windows.append((size, stride, f"{low}_{high}"))
    columns = ["x".join(map(str, column)) for column in zip(*windows, strict=True)]
    direction = str(rng.choice(["GE", "LE", "GT"]))
    select = (
        f"sel {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
        f" ROOT r = pred[] compare(a, b), direction={direction}\n}}\n"
    )
    window = f"window={{size={columns[0]} stride={columns[1]} pad={columns[2]}}}"
    root = f"f32[{commas(sizes)}] select-and-scatter(p0, p1, p2), {window}, select=sel, scatter=f"
    shapes = [f"f32[{commas(sizes)}]", f"f32[{commas(output)}]", "f32[]"]
    arrays = [rng.integers(-3, 3, s).astype(F32) for s in (sizes, output)]
    return module(select + function("f", "f32", "add"), shapes, root), [*arrays, np.array(2, F32)]


def scan(rng: Rng) -> GeneratedProgram:
    n, along, reverse = int(rng.integers(1, 5)), int(rng.integers(2)), str(rng.choice(["true", "false"]))
    sizes = [3, 3]
    sizes[along] = n
    step = (
        "f {\n x = f32[3] parameter(0)\n c = f32[3] parameter(1)\n y = f32[3] multiply(x, c)\n n = f32[3] add(x, c)\n"
        " ROOT r = (f32[3], f32[3]) tuple(y, n)\n}\n"
    )
    shape = f"f32[{commas(sizes)}]"
    attributes = f"dimensions={{{along}}}, num_carries=1, is_reverse={reverse}, to_apply=f"
    return module(step, [shape, "f32[3]"], f"({shape}, f32[3]) scan(p0, p1), {attributes}"), [
        normal(rng, sizes),
        normal(rng, [3]),
    ]


def library(opcode: str) -> Callable[[Rng], GeneratedProgram]:
    """The programs of :mod:`support.tables` of an opcode, on numbers of 32 and more bits."""
    make, names = tables.GENERATORS[opcode]
    wide = [name for name in names if name not in ("f16", "bf16")]

    def of_any_type(rng: Rng) -> GeneratedProgram:
        made = structures.program(opcode, str(rng.choice(wide)), make, rng)
        return made.text, list(made.arguments)

    return of_any_type


LIBRARY = (
    "fft", "cholesky", "triangular-solve", "rng-bit-generator", "batch-norm-inference", "batch-norm-training",
    "batch-norm-grad",
)  # fmt: skip
KINDS: dict[str, Callable[[Rng], GeneratedProgram]] = {
    **{maker.__name__: maker for maker in (gather, scatter, sort, topk, select_and_scatter, scan)},
    **{opcode: library(opcode) for opcode in LIBRARY},
}
