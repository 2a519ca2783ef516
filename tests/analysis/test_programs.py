"""Random fusions: composed maps against the dependences that runs show.

Programs are small and of operations that hide no change (moves and sums of doubles), so the two must be equal;
offsets alone may be mentioned without mattering.  What failed once is kept as a text in test_indexing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod

import numpy as np
import pytest
from conftest import related
from support.perturbation import Checked, observe_changes
from support.text import commas

import hlomap as hm
from hlomap.interpreter import execute, values as run_values

Sizes = tuple[int, ...]

MAX_ELEMENTS = 160

ADD = """add {
  a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT s = f64[] add(a, b)
}
"""


class Program:
    """A random straight-line program; ``values`` are its arrays, the last one is the result."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.parameters: list[str] = []
        self.values: list[tuple[str, Sizes]] = []
        self.offsets: list[str] = []
        first = self.parameter(
            f"f64[{commas(self.random.randrange(1, 5) for _ in range(self.random.randrange(1, 4)))}]"
        )
        sizes = self.parameters[0][4:-1]
        self.values.append((first, tuple(map(int, sizes.split(",")))))
        steps: list[Callable[[str, Sizes], None]] = [
            self.reshape, self.transpose, self.slice, self.pad, self.reverse, self.broadcast, self.concatenate,
            self.dynamic_slice, self.dynamic_update_slice, self.reduce, self.reduce_window, self.add, self.dot,
            self.gather, self.scatter,
        ]  # fmt: skip
        for _ in range(self.random.randrange(3, 10)):
            name, at = self.values[-1] if self.random.random() < 0.7 else self.random.choice(self.values)
            self.random.choice(steps)(name, at)
        name, at = self.values[-1]
        self.emit(at, f"reverse({name}), dimensions={{}}")

    @property
    def text(self) -> str:
        body = "\n".join([*self.lines[:-1], "  ROOT" + self.lines[-1][1:]])
        outer = "\n".join(f"  q{i} = {shape} parameter({i})" for i, shape in enumerate(self.parameters))
        operands = ", ".join(f"q{i}" for i in range(len(self.parameters)))
        result = f"f64[{commas(self.values[-1][1])}]"
        return (
            f"HloModule m\n{ADD}f {{\n{body}\n}}\n"
            f"ENTRY e {{\n{outer}\n  ROOT r = {result} fusion({operands}), kind=kLoop, calls=f\n}}\n"
        )

    def line(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def parameter(self, shape: str) -> str:
        self.parameters.append(shape)
        return self.line(f"{shape} parameter({len(self.parameters) - 1})")

    def emit(self, sizes: object, text: str) -> None:
        sizes = tuple(sizes)  # type: ignore[call-overload]
        if prod(sizes) <= MAX_ELEMENTS:
            self.values.append((self.line(f"f64[{commas(sizes)}] {text}"), sizes))

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
        left, output = prod(sizes), []
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
            start = self.random.randrange(size)
            limit, stride = self.random.randrange(start + 1, size + 1), self.random.randrange(1, 4)
            limits.append(f"[{start}:{limit}:{stride}]")
            output.append(-((start - limit) // stride))
        self.emit(output, f"slice({name}), slice={{{', '.join(limits)}}}")

    def pad(self, name: str, sizes: Sizes) -> None:
        if not sizes:
            return
        texts, output = [], []
        for size in sizes:
            interior = self.random.choice([0, 0, 1, 2])
            low, high = self.random.randrange(-1, 3), self.random.randrange(-1, 3)
            length = size + (size - 1) * interior
            low, high = (low, high) if length + low + high > 0 else (0, 0)
            texts.append(f"{low}_{high}_{interior}")
            output.append(length + low + high)
        self.emit(output, f"pad({name}, {self.parameter('f64[]')}), padding={'x'.join(texts)}")

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
        self.emit(kept, f"reduce({name}, {self.parameter('f64[]')}), dimensions={{{commas(gone)}}}, to_apply=add")

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
        self.emit(output, f"reduce-window({name}, {self.parameter('f64[]')}), window={{{window}}}, to_apply=add")

    def add(self, name: str, sizes: Sizes) -> None:
        self.emit(sizes, f"add({name}, {self.random.choice([n for n, s in self.values if s == sizes])})")

    def dot(self, name: str, sizes: Sizes) -> None:
        fit = [(n, s, i, j) for n, s in self.values for i, a in enumerate(sizes) for j, b in enumerate(s) if a == b]
        if fit:
            other, theirs, i, j = self.random.choice(fit)
            output = (*sizes[:i], *sizes[i + 1 :], *theirs[:j], *theirs[j + 1 :])
            attributes = f"lhs_contracting_dims={{{i}}}, rhs_contracting_dims={{{j}}}"
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
        updates = self.parameter(f"f64[{commas((*kept[:at], n, *kept[at:]))}]")
        self.emit(
            sizes,
            f"scatter({name}, {indices}, {updates}), update_window_dims={{{commas(windows)}}}, "
            f"inserted_window_dims={{{commas(gone)}}}, scatter_dims_to_operand_dims={{{commas(starts)}}}, {along}, "
            f"to_apply=add",
        )


@pytest.mark.parametrize("seed", range(100))
def test_maps_of_random_fusions(seed: int) -> None:
    module = hm.parse(Program(seed).text)
    root, rng = module.entry.root, np.random.default_rng(seed)
    arguments = [
        rng.integers(-1, 5, o.shape.dimensions, np.int32)
        if o.shape.dtype == "s32"
        else rng.uniform(0.1, 0.9, o.shape.dimensions)
        for o in root.operands
    ]
    values = run_values(module.entry, arguments) | run_values(root.called_computations[0], arguments)
    numbered = {instruction.number: value for instruction, value in values.items()}
    composed = hm.indexing(root)
    for k, (operand, there) in enumerate(zip(root.operands, hm.output_to_input(root), strict=True)):
        mentioned = related(there, (), root.shape, operand.shape, numbered)
        assert (mentioned == related(composed[operand], (), root.shape, operand.shape, numbered)).all()
        back = hm.input_to_output(root, k)[0]
        assert (mentioned == related(back, (), operand.shape, root.shape, numbered).T).all()
        is_offset = operand.shape.dtype == "s32"
        others = [np.asarray(arguments[k]).reshape(-1) + (np.int32(1) if is_offset else 0.37)]
        observed = observe_changes(lambda given: execute(module, *given), root.shape, arguments, k, (), others)[()]
        checked = Checked(root, "output_to_input", ((), root.shape), (k, (), operand.shape), there)
        checked.check_sound(observed, mentioned)
        if not is_offset:
            assert there.exact
            checked.check_tight(observed, mentioned)
