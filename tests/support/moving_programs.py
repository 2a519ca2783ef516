"""Random programs of a few operations that move elements: one operand, one output, any layouts and element types."""

from __future__ import annotations

import random

import numpy as np

import hlomap as hm

from .layout_reference import random_shape
from .text import commas

DTYPES = ("pred", "s4", "u4", "s8", "bf16", "f32", "f64", "c128", "f32", "s4")
_ADD = "add { a = DT[] parameter(0)  b = DT[] parameter(1)  ROOT c = DT[] add(a, b) }\n"


def random_program(rng: random.Random, dtype: str) -> str:
    """A chain of a few operations that move elements."""
    shape = _stored(rng, random_shape(rng, largest=160, dtype=dtype, sizes=7), dtype)
    lines = [f"v0 = {shape} parameter(0)", f"z = {dtype}[] constant({'(0,0)' if dtype == 'c128' else 0})"]
    sizes, reduced = list(shape.dimensions), False
    for k in range(rng.randint(1, 3)):
        sizes, text, attributes = _random_step(rng, sizes, f"v{k}")
        reduced = reduced or text.startswith("reduce(")
        lines.append(f"v{k + 1} = {dtype}[{commas(sizes)}] {text}{attributes}")
    layout = random_shape(rng, largest=10**6, dtype=dtype).layout
    output = hm.Shape(dtype, sizes)
    if layout is not None and len(layout.minor_to_major) == len(sizes) and not layout.padded_dimensions:
        output = output.with_layout(layout)
    lines.append(f"ROOT r = {_stored(rng, output, dtype)} copy(v{len(lines) - 2})")
    text = "\n  ".join(lines)
    return f"{_ADD.replace('DT', dtype) if reduced else ''}ENTRY e {{\n  {text}\n}}"


def _stored(rng: random.Random, shape: hm.Shape, dtype: str) -> hm.Shape:
    if dtype in ("s4", "u4") and rng.random() < 0.7:
        layout = shape.layout or hm.Layout(list(reversed(range(len(shape.dimensions)))))
        return shape.with_layout(layout.replace(element_size_in_bits=4))
    return shape


def _random_step(rng: random.Random, sizes: list[int], name: str) -> tuple[list[int], str, str]:
    rank = len(sizes)
    kind = rng.choice(["transpose", "slice", "reverse", "broadcast", "reshape", "pad", "twice", "sum"])
    if kind == "transpose":
        order = rng.sample(range(rank), rank)
        return [sizes[k] for k in order], f"transpose({name})", f", dimensions={{{commas(order)}}}"
    if kind == "slice":
        steps = [(rng.randint(0, n // 2), n, rng.randint(1, 2)) for n in sizes]
        text = commas(f"[{a}:{b}:{c}]" for a, b, c in steps)
        return [len(range(*step)) for step in steps], f"slice({name})", f", slice={{{text}}}"
    if kind == "broadcast":
        at = rng.randint(0, rank)
        kept = [k for k in range(rank + 1) if k != at]
        return [*sizes[:at], rng.randint(1, 5), *sizes[at:]], f"broadcast({name})", f", dimensions={{{commas(kept)}}}"
    if kind == "reshape":
        n = int(np.prod(sizes))
        first = rng.choice([k for k in range(1, max(n, 1) + 1) if n % k == 0])
        return [first, n // first], f"reshape({name})", ""
    if kind == "pad" and rank:
        edges = [(rng.randint(-1, 3) if n > 2 else 1, rng.randint(0, 2), rng.randint(0, 1)) for n in sizes]
        text = "x".join(f"{a}_{b}_{c}" for a, b, c in edges)
        grown = [a + b + n + c * max(0, n - 1) for n, (a, b, c) in zip(sizes, edges, strict=True)]
        return grown, f"pad({name}, z)", f", padding={text}"
    if kind == "twice" and rank:
        return [2 * sizes[0], *sizes[1:]], f"concatenate({name}, {name})", ", dimensions={0}"
    if kind == "sum" and rank:
        at = rng.randrange(rank)
        return sizes[:at] + sizes[at + 1 :], f"reduce({name}, z)", f", dimensions={{{at}}}, to_apply=add"
    return sizes, f"reverse({name})", f", dimensions={{{commas(range(rank))}}}"
