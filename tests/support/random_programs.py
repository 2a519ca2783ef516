"""Random straight-line programs of small arrays: moves, sums, windows, products, gathers and scatters.

:class:`Program` is the generator.  Its operations hide no change, so that elements that a map mentions show in runs;
offsets alone may be mentioned without mattering.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import prod

import numpy as np

import hlomap as hm
from support.layout_reference import random_shape
from support.text import commas

Sizes = tuple[int, ...]

MOVES = ("reshape", "transpose", "slice", "pad", "reverse", "broadcast", "concatenate")
TILED = ("reshape", "reshape", *MOVES, "reduce", "reduce_window", "dot", "dot", "add")
STEPS = (
    *MOVES, "dynamic_slice", "dynamic_update_slice", "reduce", "reduce_window", "add", "dot", "gather", "scatter",
)  # fmt: skip
DTYPES = ("pred", "s4", "u4", "s8", "bf16", "f32", "f64", "c128", "f32", "s4")


class Program:
    """A program; ``values`` are its arrays, the last one is the result."""

    def __init__(
        self,
        rng: random.Random,
        first: str = "",
        *,
        dtype: str = "f64",
        steps: Sequence[str] = STEPS,
        n_steps: tuple[int, int] = (3, 9),
        n_elements: int = 160,
        is_alone: bool = False,
    ) -> None:
        """``first`` is the shape of the first parameter, which is the only one if it ``is_alone``."""
        self.random, self.dtype, self.n_elements, self.is_alone = rng, dtype, n_elements, is_alone
        self.lines: list[str] = []
        self.parameters: list[str] = []
        self.offsets: list[str] = []
        sizes = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 4)))
        if first:
            sizes = tuple(hm.Shape.parse(first).dimensions)
        self.values = [(self.parameter(first or f"{dtype}[{commas(sizes)}]"), sizes)]
        for _ in range(rng.randint(*n_steps)):
            name, at = self.values[-1] if rng.random() < 0.7 else rng.choice(self.values)
            getattr(self, rng.choice(steps))(name, at)

    def entry(self) -> str:
        """The program as an entry."""
        root = f"  {self.values[-1][0]} = "
        body = "\n".join(self.lines).replace(root, f"  ROOT{root[1:]}")
        return f"HloModule m\n{self.add_}ENTRY e {{\n{body}\n}}\n"

    def fusion(self) -> str:
        """The program as a fusion."""
        name, sizes = self.values[-1]
        result = f"{self.dtype}[{commas(sizes)}]"
        body = "\n".join([*self.lines, f"  ROOT last = {result} reverse({name}), dimensions={{}}"])
        outer = "\n".join(f"  q{i} = {shape} parameter({i})" for i, shape in enumerate(self.parameters))
        operands = ", ".join(f"q{i}" for i in range(len(self.parameters)))
        return (
            f"HloModule m\n{self.add_}f {{\n{body}\n}}\n"
            f"ENTRY e {{\n{outer}\n  ROOT r = {result} fusion({operands}), kind=kLoop, calls=f\n}}\n"
        )

    @property
    def add_(self) -> str:
        a, b = (f"{name} = {self.dtype}[] parameter({k})" for k, name in enumerate("ab"))
        return f"add {{ {a}  {b}  ROOT s = {self.dtype}[] add(a, b) }}\n"

    def line(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def parameter(self, shape: str) -> str:
        self.parameters.append(shape)
        return self.line(f"{shape} parameter({len(self.parameters) - 1})")

    def emit(self, sizes: object, text: str) -> None:
        sizes = tuple(sizes)  # type: ignore[call-overload]
        if prod(sizes) <= self.n_elements:
            self.values.append((self.line(f"{self.dtype}[{commas(sizes)}] {text}"), sizes))

    def array(self, sizes: Sizes) -> tuple[str, Sizes]:
        """A parameter."""
        return self.parameter(f"{self.dtype}[{commas(sizes)}]"), sizes

    def scalar(self) -> str:
        zero = "(0,0)" if self.dtype == "c128" else "0"
        return self.line(f"{self.dtype}[] constant({zero})") if self.is_alone else self.array(())[0]

    def offset(self) -> str:
        if self.offsets and self.random.random() < 0.5:
            return self.random.choice(self.offsets)
        constant = self.random.random() < 0.3
        value = self.line(f"s32[] constant({self.random.randrange(-2, 6)})") if constant else self.parameter("s32[]")
        self.offsets.append(value)
        return value

    def some(self, sizes: Sizes) -> list[int]:
        return [i for i in range(len(sizes)) if self.random.random() < 0.5]

    def reshape(self, name: str, sizes: Sizes) -> None:
        left = prod(sizes)
        output = [] if left else [0]
        while left > 1:
            factor = self.random.choice([k for k in range(2, left + 1) if left % k == 0])
            output.append(factor)
            left //= factor
        output += [1] * self.random.randrange(2)
        self.random.shuffle(output)
        self.emit(output, f"reshape({name})")

    def transpose(self, name: str, sizes: Sizes) -> None:
        order = self.random.sample(range(len(sizes)), len(sizes))
        self.emit((sizes[i] for i in order), f"transpose({name}), dimensions={{{commas(order)}}}")

    def slice(self, name: str, sizes: Sizes) -> None:
        limits, output = [], []
        for size in sizes:
            start = self.random.randrange(max(1, size))
            limit, stride = self.random.randrange(min(start + 1, size), size + 1), self.random.randrange(1, 4)
            limits.append(f"[{start}:{limit}:{stride}]")
            output.append(-((start - limit) // stride))
        self.emit(output, f"slice({name}), slice={{{', '.join(limits)}}}")

    def pad(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        texts, output = [], []
        for size in sizes:
            interior = self.random.choice([0, 0, 1, 2])
            low, high = self.random.randrange(-1 if size else 1, 3), self.random.randrange(-1 if size else 0, 3)
            length = size + max(0, size - 1) * interior
            low, high = (low, high) if length + low + high > 0 else (0, 0)
            texts.append(f"{low}_{high}_{interior}")
            output.append(length + low + high)
        self.emit(output, f"pad({name}, {self.scalar()}), padding={'x'.join(texts)}")

    def reverse(self, name: str, sizes: Sizes) -> None:
        self.emit(sizes, f"reverse({name}), dimensions={{{commas(self.some(sizes))}}}")

    def broadcast(self, name: str, sizes: Sizes) -> None:
        at = self.random.randrange(len(sizes) + 1)
        output = (*sizes[:at], self.random.randrange(1, 4), *sizes[at:])
        kept = [i for i in range(len(output)) if i != at]
        self.emit(output, f"broadcast({name}), dimensions={{{commas(kept)}}}")

    def concatenate(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        along = self.random.randrange(len(sizes))
        rest = (*sizes[:along], *sizes[along + 1 :])
        fit = [(n, s) for n, s in self.values if len(s) == len(sizes) and (*s[:along], *s[along + 1 :]) == rest]
        chosen = [*self.random.choices(fit, k=self.random.randrange(1, 3)), (name, sizes)]
        if not self.is_alone and self.random.random() < 0.4:
            length = self.random.randrange(1, 6)
            chosen.insert(self.random.randrange(2), self.array((*sizes[:along], length, *sizes[along + 1 :])))
        output = (*sizes[:along], sum(s[along] for _, s in chosen), *sizes[along + 1 :])
        self.emit(output, f"concatenate({', '.join(n for n, _ in chosen)}), dimensions={{{along}}}")

    def dynamic_slice(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        output = [self.random.randrange(1, size + 1) for size in sizes]
        offsets = ", ".join(self.offset() for _ in sizes)
        self.emit(output, f"dynamic-slice({name}, {offsets}), dynamic_slice_sizes={{{commas(output)}}}")

    def dynamic_update_slice(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        fit = [n for n, s in self.values if len(s) == len(sizes) and all(a <= b for a, b in zip(s, sizes, strict=True))]
        offsets = ", ".join(self.offset() for _ in sizes)
        self.emit(sizes, f"dynamic-update-slice({name}, {self.random.choice(fit)}, {offsets})")

    def reduce(self, name: str, sizes: Sizes) -> None:
        gone = self.some(sizes)
        kept = (size for i, size in enumerate(sizes) if i not in gone)
        self.emit(kept, f"reduce({name}, {self.scalar()}), dimensions={{{commas(gone)}}}, to_apply=add")

    def reduce_window(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        windows, output = [], []
        for length in sizes:
            size, stride = self.random.randrange(1, 4), self.random.randrange(1, 3)
            low, high = self.random.randrange(-1, 3), self.random.randrange(-1, 3)
            base, dilation = self.random.choice([1, 1, 2]), self.random.choice([1, 1, 2])
            slack = (length - 1) * base + low + high - (size - 1) * dilation
            if slack < 0:
                size, stride, low, high, base, dilation, slack = 1, 1, 0, 0, 1, 1, length - 1
            windows.append((size, stride, f"{low}_{high}", base, dilation))
            output.append(slack // stride + 1)
        words = zip(("size", "stride", "pad", "lhs_dilate", "rhs_dilate"), zip(*windows, strict=True), strict=True)
        window = " ".join(f"{word}={'x'.join(map(str, numbers))}" for word, numbers in words)
        self.emit(output, f"reduce-window({name}, {self.scalar()}), window={{{window}}}, to_apply=add")

    def add(self, name: str, sizes: Sizes) -> None:
        self.emit(sizes, f"add({name}, {self.random.choice([n for n, s in self.values if s == sizes])})")

    def dot(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        i, j = self.random.randrange(len(sizes)), 0
        batch = [b for b in range(len(sizes)) if b != i and self.random.random() < 0.3]
        fit = [(n, s, k) for n, s in self.values for k, size in enumerate(s) if size == sizes[i]]
        if self.is_alone or self.random.random() < 0.5:
            batch, (other, theirs, j) = [], self.random.choice(fit)
        else:
            shared = tuple(sizes[b] for b in batch)
            (other, theirs), j = self.array((*shared, sizes[i], self.random.randrange(1, 6))), len(batch)
        own = [k for k in range(len(sizes)) if k != i and k not in batch]
        free = [k for k in range(len(batch), len(theirs)) if k != j]
        attributes = f"lhs_contracting_dims={{{i}}}, rhs_contracting_dims={{{j}}}"
        if batch:
            attributes += f", lhs_batch_dims={{{commas(batch)}}}, rhs_batch_dims={{{commas(range(len(batch)))}}}"
        output = [sizes[b] for b in batch] + [sizes[k] for k in own] + [theirs[k] for k in free]
        self.emit(output, f"dot({name}, {other}), {attributes}")

    def vectors(self, sizes: Sizes) -> tuple[str, int, list[int], list[int], str]:
        """Random index vectors: their operand, their number, the indexed dimensions, and the collapsed ones."""
        gone = self.some(sizes)
        starts = self.random.sample(range(len(sizes)), self.random.randrange(1, len(sizes) + 1))
        n = self.random.randrange(1, 4)
        shape, along = ([n, len(starts)], 1) if self.random.random() < 0.5 else ([len(starts), n], 0)
        return self.parameter(f"s32[{commas(shape)}]"), n, starts, gone, f"index_vector_dim={along}"

    def gather(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        indices, n, starts, gone, along = self.vectors(sizes)
        slices = [1 if i in gone else self.random.randrange(1, size + 1) for i, size in enumerate(sizes)]
        kept = [size for i, size in enumerate(slices) if i not in gone]
        at = self.random.randrange(len(kept) + 1)
        offsets = [i for i in range(len(kept) + 1) if i != at]
        output = (*kept[:at], n, *kept[at:])
        self.emit(
            output,
            f"gather({name}, {indices}), offset_dims={{{commas(offsets)}}}, collapsed_slice_dims={{{commas(gone)}}}, "
            f"start_index_map={{{commas(starts)}}}, {along}, slice_sizes={{{commas(slices)}}}",
        )

    def scatter(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        indices, n, starts, gone, along = self.vectors(sizes)
        kept = [self.random.randrange(1, size + 1) for i, size in enumerate(sizes) if i not in gone]
        at = self.random.randrange(len(kept) + 1)
        windows = [i for i in range(len(kept) + 1) if i != at]
        updates, _ = self.array((*kept[:at], n, *kept[at:]))
        self.emit(
            sizes,
            f"scatter({name}, {indices}, {updates}), update_window_dims={{{commas(windows)}}}, "
            f"inserted_window_dims={{{commas(gone)}}}, scatter_dims_to_operand_dims={{{commas(starts)}}}, {along}, "
            f"to_apply=add",
        )


def random_moves(rng: random.Random, dtype: str) -> str:
    """A program of one operand, with any layouts, whose elements move or are summed."""
    first = _stored(rng, random_shape(rng, largest=160, dtype=dtype, sizes=7), dtype)
    made = Program(
        rng, str(first), dtype=dtype, steps=(*MOVES, "reduce"), n_steps=(1, 3), n_elements=1000, is_alone=True
    )
    output = hm.Shape(dtype, made.values[-1][1])
    layout = random_shape(rng, largest=10**6, dtype=dtype).layout
    if layout is not None and len(layout.minor_to_major) == output.rank and not layout.padded_dimensions:
        output = output.with_layout(layout)
    made.values.append((made.line(f"{_stored(rng, output, dtype)} copy({made.values[-1][0]})"), output.dimensions))
    return made.entry()


def _stored(rng: random.Random, shape: hm.Shape, dtype: str) -> hm.Shape:
    if dtype in ("s4", "u4") and rng.random() < 0.7:
        layout = shape.layout or hm.Layout(list(reversed(range(len(shape.dimensions)))))
        return shape.with_layout(layout.replace(element_size_in_bits=4))
    return shape


def random_tiled(rng: np.random.Generator, most: int = 600) -> hm.Module:
    """A program of some operations whose parameters of tiles have at most ``most`` points."""
    draw = random.Random(int(rng.integers(1 << 32)))
    while True:
        rank = draw.randrange(1, 4)
        sizes = [draw.choice([1, 2, 3, 4, 5, 6, 8, 12]) if rank < 3 else draw.randrange(1, 7) for _ in range(rank)]
        made = Program(draw, f"f32[{commas(sizes)}]", dtype="f32", steps=TILED, n_steps=(1, 5), n_elements=most)
        module = hm.parse(made.entry())
        if prod(p.size for p in hm.tile(module.entry).params) <= most:
            return module
