"""Updates in place against the definition: a thread reads an element of the buffer that another thread writes."""

from __future__ import annotations

import itertools
import random

import numpy as np

import hlomap as hm


def _shape(sizes: list[int]) -> str:
    return f"f32[{','.join(map(str, sizes))}]"


def _list(values: list[str]) -> str:
    return "{" + ",".join(values) + "}"


def random_update(rng: random.Random) -> str:
    """A program that reads a part ``s`` of ``t``, maybe reversed, and writes it into ``t`` at another place."""
    rank = rng.choice([1, 2])
    sizes = [rng.randint(3, 6) for _ in range(rank)]
    part = [rng.randint(1, size) for size in sizes]
    starts = [[rng.randint(0, whole - size) for whole, size in zip(sizes, part, strict=True)] for _ in range(2)]
    lines = [f"t = {_shape(sizes)} parameter(0)", "i = s32[] parameter(1)", "j = s32[] parameter(2)"]
    at: list[list[str]] = [[], []]
    at_run_time = [rng.random() < 0.5 for _ in sizes]
    for k, side in enumerate(at):
        for d, start in enumerate(starts[k]):
            lines.append(f"c{k}{d}x = s32[] constant({start})")
            side.append("ij"[k] if at_run_time[d] else f"c{k}{d}x")
    body = ["a = " + lines[0].split(" = ")[1]]
    kind = rng.choice(["slice", "same index", "another index"])
    if kind == "slice":
        limits = [f"[{start}:{start + size}]" for start, size in zip(starts[1], part, strict=True)]
        body.append(f"b = {_shape(part)} slice(a), slice={_list(limits)}")
        operands = ["t"]
    else:
        index = at[0] if kind == "same index" else at[1]
        body += [f"k{d}x = s32[] parameter({d + 1})" for d in range(rank)]
        called = ", ".join(f"k{d}x" for d in range(rank))
        taken = _list([str(size) for size in part])
        body.append(f"b = {_shape(part)} dynamic-slice(a, {called}), dynamic_slice_sizes={taken}")
        operands = ["t", *index]
    turned = [str(d) for d in range(rank) if rng.random() < 0.3]
    body.append(f"ROOT r = {_shape(part)} reverse(b), dimensions={_list(turned)}")
    lines.append(f"s = {_shape(part)} fusion({', '.join(operands)}), kind=kLoop, calls=f")
    lines.append(f"ROOT u = {_shape(sizes)} dynamic-update-slice(t, s, {', '.join(at[0])})")
    written = "\n  ".join
    return f"HloModule m\nf {{\n  {written(body)}\n}}\nENTRY e {{\n  {written(lines)}\n}}\n"


def conflicts(module: hm.Module) -> bool:
    """Whether for some indices an element that is written is another one's source: by running the program."""
    update, sizes = module["u"], module["t"].shape.dimensions
    part = module["s"].shape.dimensions
    t = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    every = range(-1, max(sizes) + 1)
    for i, j in itertools.product(every, every):
        starts = [{"i": i, "j": j}.get(k.name, k.literal) for k in update.operands[2:]]
        lower = [min(max(int(k), 0), n - size) for k, n, size in zip(starts, sizes, part, strict=True)]
        written = {*itertools.product(*(range(k, k + size) for k, size in zip(lower, part, strict=True)))}
        values = hm.execute(module, t, np.int32(i), np.int32(j))
        for element in written:
            source = tuple(int(k) for k in np.unravel_index(int(values[element]), sizes))
            if source != element and source in written:
                return True
    return False


def test_random_updates() -> None:
    """No conflict is missed, and nothing safe is refused."""
    rng = random.Random(0)
    found = []
    for _ in range(60):
        text = random_update(rng)
        module = hm.parse(text)
        (row,) = (row for row in hm.fusions(module, columns=["why_not"]) if row.consumer == module["u"])
        expected = conflicts(module)
        assert bool(row.why_not) == expected, f"{text}{row.why_not}"
        assert not row.why_not or row.why_not[0].startswith("in place: u writes t while s still reads")
        found.append(expected)
    assert 10 < sum(found) < 50
