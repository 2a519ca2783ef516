"""Random loops that read arrays at distances: HLO text, beside what every element depends on by running the text's own
operations on sets.

A set of elements is a row of a bool array with the elements of all arrays before the loop as its last dimension, so
that a slice of the array of sets is the array of the sets of a slice.  It uses nothing of the analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

Sets = np.ndarray
# ``step`` and ``start``, or also the number modulo which the offset is.
Offset = tuple[int, int] | tuple[int, int, int]


@dataclass
class Body:
    """The instructions of a body, and the sets of the values that they compute."""

    iteration: int = 0
    lines: list[str] = field(default_factory=list)
    sets: dict[str, Sets] = field(default_factory=dict)

    def add(self, text: str, sets: Sets) -> str:
        """Adds an instruction of floats."""
        name = f"v{len(self.sets)}"
        shape = f"f32[{','.join(map(str, sets.shape[:-1]))}]"
        self.lines.append(f"{name} = {shape} {text}")
        self.sets[name] = sets
        return name

    def slice(self, x: str, begin: list[int], end: list[int]) -> str:
        ranges = ", ".join(f"[{a}:{b}]" for a, b in zip(begin, end, strict=True))
        return self.add(f"slice({x}), slice={{{ranges}}}", self.sets[x][box(begin, end)])

    def shifted(self, x: str, vector: tuple[int, ...]) -> str:
        """The elements at a distance; 0 where there are none."""
        sets = np.zeros_like(self.sets[x])
        sizes = sets.shape[:-1]
        begin, end = [max(0, -v) for v in vector], [min(n, n - v) for n, v in zip(sizes, vector, strict=True)]
        if all(a < b for a, b in zip(begin, end, strict=True)):
            moved = (
                [a + v for a, v in zip(begin, vector, strict=True)],
                [b + v for b, v in zip(end, vector, strict=True)],
            )
            sets[box(begin, end)] = self.sets[x][box(*moved)]
        return self.add(f"pad({x}, zero), padding={'x'.join(f'{-v}_{v}' for v in vector)}", sets)

    def rolled(self, x: str, vector: tuple[int, ...]) -> str:
        """The elements at a distance, around the end."""
        for d, by in enumerate(vector):
            sizes = self.sets[x].shape[:-1]
            by %= sizes[d]
            if by:
                begin, end = [0] * len(sizes), list(sizes)
                first = self.slice(x, [by if i == d else a for i, a in enumerate(begin)], end)
                second = self.slice(x, begin, [by if i == d else b for i, b in enumerate(end)])
                sets = np.concatenate([self.sets[first], self.sets[second]], axis=d)
                x = self.add(f"concatenate({first}, {second}), dimensions={{{d}}}", sets)
        return x

    def sum(self, names: list[str]) -> str:
        found = names[0]
        for name in names[1:]:
            found = self.add(f"add({found}, {name})", self.sets[found] | self.sets[name])
        return found

    def offset(self, step: int, start: int, around: int = 0) -> str:
        """The scalar ``step * t + start``, modulo a number if that is not 0."""
        if around:
            step, start = step % around, start % around
        name = f"i{len(self.lines)}"
        self.lines.append(f"{name}a = s32[] constant({step})")
        self.lines.append(f"{name}b = s32[] multiply(t, {name}a)")
        self.lines.append(f"{name}c = s32[] constant({start})")
        self.lines.append(f"{name} = s32[] add({name}b, {name}c)")
        if around:
            self.lines.append(f"{name}n = s32[] constant({around})")
            self.lines.append(f"{name}w = s32[] remainder({name}, {name}n)")
            return f"{name}w"
        return name

    def begin(self, x: str, sizes: list[int], offsets: list[Offset]) -> tuple[str, list[int]]:
        """The offsets as operands, and where a window begins in this iteration: offsets are clamped."""
        names = ", ".join(self.offset(*offset) for offset in offsets)
        whole = self.sets[x].shape[:-1]
        values = [step * self.iteration + start for step, start, *_ in offsets]
        values = [x % n[0] if n else x for x, (_, _, *n) in zip(values, offsets, strict=True)]
        return names, [min(max(a, 0), n - k) for a, n, k in zip(values, whole, sizes, strict=True)]

    def read(self, x: str, sizes: list[int], offsets: list[Offset]) -> str:
        names, begin = self.begin(x, sizes, offsets)
        window = box(begin, [a + k for a, k in zip(begin, sizes, strict=True)])
        text = f"dynamic-slice({x}, {names}), dynamic_slice_sizes={{{','.join(map(str, sizes))}}}"
        return self.add(text, self.sets[x][window])

    def write(self, x: str, update: str, offsets: list[Offset]) -> str:
        sizes = list(self.sets[update].shape[:-1])
        names, begin = self.begin(x, sizes, offsets)
        sets = self.sets[x].copy()
        sets[box(begin, [a + k for a, k in zip(begin, sizes, strict=True)])] = self.sets[update]
        return self.add(f"dynamic-update-slice({x}, {update}, {names})", sets)


def box(begin: list[int], end: list[int]) -> tuple[slice, ...]:
    return tuple(slice(a, b) for a, b in zip(begin, end, strict=True))


Step = Callable[[Body, str, str], tuple[str, str]]


KINDS = ("zeros", "around", "inside", "inside", "rows", "copies", "copies", "exchange")


def step_of(rng: Random, kinds: Sequence[str]) -> tuple[str, list[int], int, Step]:
    """A kind of loop, the sizes of its arrays, how often it writes other elements, and what one iteration does."""
    kind = rng.choice(kinds)
    rank = rng.choice([1, 1, 2])
    sizes = [rng.randint(2, 9 if rank == 1 else 5) for _ in range(rank)]
    reach = rng.choice([1, 1, 2, 3])
    n = rng.randint(1, 4)
    vectors = [tuple(rng.randint(-reach, reach) * rng.choice([0, 1, 1]) for _ in sizes) for _ in range(n)]
    if rng.random() < 0.3:  # one way
        vectors = [tuple(-abs(x) for x in v) for v in vectors]
    if rng.random() < 0.25:  # a star
        vectors = [tuple(s if i == d else 0 for i in range(rank)) for d in range(rank) for s in (-1, 1)]
    if rng.random() < 0.5:
        vectors.append((0,) * rank)
    begin = [rng.randint(0, 1) if m > 2 else 0 for m in sizes]
    end = [m - rng.randint(0, 1) if m > 2 else m for m in sizes]
    lines = [(rng.choice([1, 1, 1, -1, 2, -2, 3]), rng.randint(-1, sizes[0])) for _ in range(4)]
    distances = [rng.choice([-1, -1, -2, -3, 1, 0, 2]) for _ in range(n)]
    width = rng.choice([1, 1, 1, 1, 2]) if sizes[0] > 2 else 1
    own, other, is_kept = rng.random() < 0.3, rng.random() < 0.5, rng.random() < 0.7

    def step(body: Body, a: str, b: str) -> tuple[str, str]:
        if kind == "zeros":
            return body.sum([body.shifted(a, v) for v in vectors]), b
        if kind == "around":
            return body.sum([body.rolled(a, v) for v in vectors]), b
        if kind == "inside":
            inner = [max([lo, *(-v[i] for v in vectors)]) for i, lo in enumerate(begin)]
            outer = [min([hi, *(sizes[i] - v[i] for v in vectors)]) for i, hi in enumerate(end)]
            if any(lo >= hi for lo, hi in zip(inner, outer, strict=True)):
                return body.sum([body.shifted(a, v) for v in vectors]), b
            moved = [[[x + y for x, y in zip(p, v, strict=True)] for p in (inner, outer)] for v in vectors]
            update = body.sum([body.slice(a, *at) for at in moved])
            if is_kept:
                return body.write(a, update, [(0, lo) for lo in inner]), b
            padding = "x".join(f"{lo}_{m - hi}" for lo, hi, m in zip(inner, outer, sizes, strict=True))
            sets = np.zeros_like(body.sets[a])
            sets[box(inner, outer)] = body.sets[update]
            return body.add(f"pad({update}, zero), padding={padding}", sets), b
        window = [width, *sizes[1:]]
        whole = [(0, 0)] * (rank - 1)
        (by, start), others = lines[0], lines[1:]
        if kind == "ring":
            reads = [body.read(a, window, [(by, start + k, sizes[0]), *whole]) for k in distances]
        elif kind == "rows":
            reads = [body.read(a, window, [(by, start + k), *whole]) for k in distances]
            reads = [body.shifted(r, (0, *v[1:])) if rank > 1 else r for r, v in zip(reads, vectors, strict=False)]
        else:
            reads = [body.read(a, window, [offset, *whole]) for offset in others[:n]]
        if own:
            reads.append(body.read(a, window, [(by, start), *whole]))
        if other:
            reads.append(body.read(b, window, [(by, start), *whole]))
        at = (by, start, sizes[0]) if kind == "ring" and is_kept else (by, start)
        new = body.write(a, body.sum(reads), [at, *whole])
        if kind == "exchange":
            new = body.write(new, body.read(a, window, [(by, start), *whole]), [others[0], *whole])
        return new, b

    # Offsets are clamped from the iteration on that leaves the array; most loops end before.
    n_inside = 12
    for by, start in lines[: 2 if kind == "exchange" else 1] if kind in ("rows", "copies", "exchange") else ():
        n_inside = min(n_inside, sum(0 <= by * t + start <= sizes[0] - width for t in range(12)) if start >= 0 else 0)
    return kind, sizes, n_inside, step


def random_loop(seed: int, kinds: Sequence[str] = KINDS) -> tuple[str, str, int, list[np.ndarray]]:
    """The kind of a loop, its text, the number of iterations, and for each array the sets of its elements after them.

    The sets are over the elements of the first array, and then those of the second.
    """
    rng = Random(seed)
    kind, sizes, n_inside, step = step_of(rng, kinds)
    count = rng.randint(1, 12)
    if n_inside > 1 and rng.random() < 0.8:
        count = min(count, n_inside)
    n_a = n_b = int(np.prod(sizes))
    each = np.eye(n_a + n_b, dtype=np.bool_)
    a, b = each[:n_a].reshape([*sizes, n_a + n_b]), each[n_a:].reshape([*sizes, n_a + n_b])
    text = ""
    for t in range(count):
        body = Body(t)
        body.sets |= {"a": a, "b": b}
        new_a, new_b = step(body, "a", "b")
        a, b = body.sets[new_a], body.sets[new_b]
        text = "\n  ".join([*body.lines, f"ROOT r = (s32[], ARRAY, ARRAY) tuple(next, {new_a}, {new_b})"])
    shape = f"f32[{','.join(map(str, sizes))}]"
    module = f"""HloModule loop_{seed}
body {{
  s = (s32[], ARRAY, ARRAY) parameter(0)
  t = s32[] get-tuple-element(s), index=0
  a = ARRAY get-tuple-element(s), index=1
  b = ARRAY get-tuple-element(s), index=2
  zero = f32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(t, one)
  {text}
}}
condition {{
  s = (s32[], ARRAY, ARRAY) parameter(0)
  t = s32[] get-tuple-element(s), index=0
  n = s32[] constant({count})
  ROOT c = pred[] compare(t, n), direction=LT
}}
ENTRY e {{
  zero = s32[] constant(0)
  a = ARRAY parameter(0)
  b = ARRAY parameter(1)
  s = (s32[], ARRAY, ARRAY) tuple(zero, a, b)
  ROOT w = (s32[], ARRAY, ARRAY) while(s), condition=condition, body=body
}}
"""
    return kind, module.replace("ARRAY", shape), count, [a, b]
