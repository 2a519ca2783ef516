"""Random small fusions, and every tile of every candidate enumerated.

:func:`random_fusion` writes a program, :class:`Enumerated` holds all points of one read.  Nothing here knows how tiles
are computed: it evaluates maps at points and sorts the values by tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

import hlomap as hm

Rng = np.random.Generator
Ints = npt.NDArray[np.int64]

ADD = "add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }"


class Writer:
    """A program under construction: lines of text and the sizes of the last value."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.n_parameters = 0
        self.value, self.sizes = self.parameter(self.some_sizes())

    def some_sizes(self) -> list[int]:
        rank = int(self.rng.integers(1, 4))
        return [
            int(self.rng.choice([1, 2, 3, 4, 5, 6, 8, 12])) if rank < 3 else int(self.rng.integers(1, 7))
            for _ in range(rank)
        ]

    def parameter(self, sizes: Sequence[int], kind: str = "f32") -> tuple[str, list[int]]:
        name = f"p{self.n_parameters}"
        self.lines.append(f"{name} = {shape(sizes, kind)} parameter({self.n_parameters})")
        self.n_parameters += 1
        return name, list(sizes)

    def add(self, sizes: Sequence[int], rest: str) -> None:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {shape(sizes)} {rest}")
        self.value, self.sizes = name, list(sizes)

    def text(self) -> str:
        return (
            "HloModule m\n"
            + ADD
            + "\nENTRY e {\n  "
            + "\n  ".join([*self.lines[:-1], f"ROOT {self.lines[-1]}"])
            + "\n}"
        )


def shape(sizes: Sequence[int], kind: str = "f32") -> str:
    return f"{kind}[{','.join(map(str, sizes))}]"


def braces(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, numbers)) + "}"


def reshape(w: Writer) -> None:
    n, sizes = prod(w.sizes), []
    while n > 1 and len(sizes) < 3:
        d = int(w.rng.choice([d for d in range(1, n + 1) if n % d == 0]))
        sizes.append(d)
        n //= d
    sizes.append(n)
    w.add(sizes, f"reshape({w.value})")


def transpose(w: Writer) -> None:
    order = w.rng.permutation(len(w.sizes)).tolist()
    w.add([w.sizes[i] for i in order], f"transpose({w.value}), dimensions={braces(order)}")


def slice_(w: Writer) -> None:
    limits, sizes = [], []
    for n in w.sizes:
        start, step = int(w.rng.integers(0, n)), int(w.rng.integers(1, 4))
        end = int(w.rng.integers(start + 1, n + 1))
        limits.append(f"[{start}:{end}:{step}]")
        sizes.append(-(-(end - start) // step))
    w.add(sizes, f"slice({w.value}), slice={{{', '.join(limits)}}}")


def reverse(w: Writer) -> None:
    dims = [i for i in range(len(w.sizes)) if w.rng.random() < 0.6]
    w.add(w.sizes, f"reverse({w.value}), dimensions={braces(dims)}")


def pad(w: Writer) -> None:
    w.lines.append(f"z{len(w.lines)} = f32[] constant(0)")
    zero, config, sizes = w.lines[-1].split()[0], [], []
    for n in w.sizes:
        low, high, inner = (int(w.rng.integers(-1, 3)), int(w.rng.integers(-1, 3)), int(w.rng.integers(0, 5) == 0))
        size = n + low + high + (n - 1) * inner
        if size < 1:
            low, high, inner, size = 1, 0, 0, n + 1
        config.append(f"{low}_{high}_{inner}")
        sizes.append(size)
    w.add(sizes, f"pad({w.value}, {zero}), padding={'x'.join(config)}")


def broadcast(w: Writer) -> None:
    at = int(w.rng.integers(0, len(w.sizes) + 1))
    sizes = [*w.sizes[:at], int(w.rng.integers(1, 7)), *w.sizes[at:]]
    w.add(sizes, f"broadcast({w.value}), dimensions={braces([i for i in range(len(sizes)) if i != at])}")


def concatenate(w: Writer) -> None:
    if not w.sizes:
        return
    along, first = int(w.rng.integers(0, len(w.sizes))), w.value
    other, sizes = w.parameter([*w.sizes[:along], int(w.rng.integers(1, 6)), *w.sizes[along + 1 :]])
    both = [first, other] if w.rng.random() < 0.5 else [other, first]
    total = [a + b if i == along else a for i, (a, b) in enumerate(zip(w.sizes, sizes, strict=True))]
    w.add(total, f"concatenate({', '.join(both)}), dimensions={{{along}}}")


def reduce(w: Writer) -> None:
    dims = sorted({int(w.rng.integers(0, len(w.sizes)))}) if w.sizes else []
    w.lines.append(f"z{len(w.lines)} = f32[] constant(0)")
    zero = w.lines[-1].split()[0]
    sizes = [n for i, n in enumerate(w.sizes) if i not in dims]
    w.add(sizes, f"reduce({w.value}, {zero}), dimensions={braces(dims)}, to_apply=add")


def window(w: Writer) -> None:
    if not w.sizes:
        return
    w.lines.append(f"z{len(w.lines)} = f32[] constant(0)")
    zero, parts, sizes = w.lines[-1].split()[0], [], []
    for n in w.sizes:
        size = int(w.rng.integers(1, min(n, 3) + 1))
        stride, low, high = int(w.rng.integers(1, 3)), int(w.rng.integers(0, 2)), int(w.rng.integers(0, 2))
        parts.append((size, stride, f"{low}_{high}"))
        sizes.append((n + low + high - size) // stride + 1)
    fields = [f"{key}={'x'.join(str(p[k]) for p in parts)}" for k, key in enumerate(("size", "stride", "pad"))]
    w.add(sizes, f"reduce-window({w.value}, {zero}), window={{{' '.join(fields)}}}, to_apply=add")


def dot(w: Writer) -> None:
    if not w.sizes:
        return
    k, batch = int(w.rng.integers(0, len(w.sizes))), []
    if len(w.sizes) > 1 and w.rng.random() < 0.4:
        batch = [i for i in range(len(w.sizes)) if i != k][:1]
    left, sizes = w.value, w.sizes
    right, other = w.parameter([*(sizes[i] for i in batch), sizes[k], int(w.rng.integers(1, 6))])
    free = [n for i, n in enumerate(sizes) if i != k and i not in batch]
    numbers = f"lhs_contracting_dims={{{k}}}, rhs_contracting_dims={{{len(batch)}}}"
    if batch:
        numbers += f", lhs_batch_dims={braces(batch)}, rhs_batch_dims={{0}}"
    w.add([*(sizes[i] for i in batch), *free, other[-1]], f"dot({left}, {right}), {numbers}")


def twice(w: Writer) -> None:
    """The value and a changed copy of it."""
    before, sizes = w.value, w.sizes
    reverse(w) if w.rng.random() < 0.5 or len(set(sizes)) > 1 else transpose(w)
    if w.sizes == sizes:
        w.add(sizes, f"add({before}, {w.value})")


OPERATIONS = (
    reshape, reshape, reshape, transpose, slice_, reverse, pad, broadcast, concatenate, reduce, window, dot, twice,
)  # fmt: skip


def random_fusion(rng: Rng, most: int = 600) -> hm.Module:
    """A program of some operations whose parameters of tiles have at most ``most`` points."""
    while True:
        w = Writer(rng)
        for _ in range(int(rng.integers(1, 6))):
            OPERATIONS[int(rng.integers(0, len(OPERATIONS)))](w)
        if len(w.lines) == w.n_parameters:
            continue
        module = hm.parse(w.text())
        if prod(max(1, p.size) for p in hm.tile(module.entry).params) <= most:
            return module


def grid(spans: Sequence[range]) -> Ints:
    """All points of a product of ranges, one row a point."""
    axes = np.meshgrid(*[np.arange(s.start, s.stop) for s in spans], indexing="ij")
    return np.stack([a.reshape(-1) for a in axes], axis=1) if axes else np.zeros((1, 0), np.int64)


class Enumerated:
    """All points of a map from parameters of the given sizes, with the elements that they reach."""

    def __init__(self, m: hm.IndexingMap, sizes: Sequence[int], runtime: Sequence[int] = ()) -> None:
        spans = [range(n) for n in sizes] + [range(r.lower, r.upper + 1) for r in m.ranges]
        points = grid(spans)
        dims, ranges = points[:, : len(sizes)], points[:, len(sizes) :]
        values = np.tile(np.array(runtime, np.int64), (len(points), 1))
        inside = m.in_domain(dims, ranges, values)
        self.points = dims[inside]
        self.elements: Ints = m.evaluate(dims, ranges, values, check=False)[inside]
        self.runtime = dict(enumerate(runtime))
        self.elements = self.elements.reshape(len(self.points), len(m.results))
        used = {name for e in [*m.results, *(c.expr for c in m.constraints)] for name in _names(str(e))}
        self.depends = [
            f"d{k}" in used or d.lower > 0 or d.upper + 1 < n
            for k, (d, n) in enumerate(zip(m.dims, sizes, strict=True))
        ]

    def tiles(self, candidate: Sequence[int]) -> dict[tuple[int, ...], Ints]:
        """The different elements of every tile that reaches any."""
        ids = self.points // np.array(candidate, np.int64) if len(candidate) else self.points
        rows = np.concatenate([ids, self.elements], axis=1)
        low = rows.min(axis=0, initial=0)
        keys = np.ravel_multi_index(tuple((rows - low).T), rows.max(axis=0, initial=0) - low + 1)
        rows = rows[np.unique(keys, return_index=True)[1]]
        ids, elements = rows[:, : len(candidate)], rows[:, len(candidate) :]
        first = np.flatnonzero((np.diff(ids, axis=0) != 0).any(axis=1)) + 1
        starts = [0, *first.tolist()] if len(rows) else []
        return dict(zip(map(tuple, ids[starts].tolist()), np.split(elements, first), strict=False))


def _names(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()


def progressions(elements: Ints) -> list[tuple[int, int, int]] | None:
    """First value, size and stride of every dimension, where the elements are a box."""
    columns = [np.unique(elements[:, k]) for k in range(elements.shape[1])]
    if prod(len(c) for c in columns) != len(elements):
        return None
    if any(len(c) > 2 and (np.diff(c) != c[1] - c[0]).any() for c in columns):
        return None
    return [(int(c[0]), len(c), int(c[1] - c[0]) if len(c) > 1 else 1) for c in columns]


def tight_box(elements: Ints) -> int:
    """The number of elements of the smallest box with one stride in every dimension."""
    size = 1
    for k in range(elements.shape[1]):
        c = np.unique(elements[:, k])
        stride = int(np.gcd.reduce(np.diff(c))) if len(c) > 1 else 1
        size *= (int(c[-1]) - int(c[0])) // stride + 1
    return size


def inside(box: tuple[tuple[int, ...], ...]) -> set[tuple[int, ...]]:
    """The elements of a box that lie within its bounds."""
    axes = [
        [x for x in (offset + stride * i for i in range(size)) if lower <= x < upper]
        for offset, size, stride, lower, upper in zip(*box, strict=True)
    ]
    return set(product(*axes))
