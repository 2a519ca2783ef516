"""Measures tiles: ``python benches/tiles.py``.

Beside ``t.evaluate`` stands the loop that computes the bytes of one read by composing, restricting and counting maps.
Prints candidates a second for each, the time of ``hm.tile`` on a fusion of 20 instructions, and the time of everything
for one candidate of a transpose of rank 16.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable

import hlomap as hm

LAYER = """ENTRY e {
  a = bf16[1024,2048]{1,0} parameter(0)
  b = bf16[2048,512]{0,1} parameter(1)
  c = f32[512]{0} parameter(2)
  d = bf16[1024,512]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[1024,512]{1,0} convert(d)
  f = f32[1024,512]{1,0} broadcast(c), dimensions={1}
  ROOT g = f32[1024,512]{1,0} add(e, f)
}"""
QUICK = ["legal", "grid", "read_bytes"]


def seconds(call: Callable[[], object], n: int = 5) -> float:
    """The least time of some calls."""
    return min(timeit.repeat(call, number=1, repeat=n))


def chain(n: int) -> hm.Module:
    """A fusion of ``n`` instructions, parameters included."""
    lines = ["p0 = f32[64,128] parameter(0)", "p1 = f32[64,128] parameter(1)"]
    steps = ("add({}, p1)", "reverse({}), dimensions={{0}}", "negate({})")
    for i in range(n - 2):
        lines.append(f"v{i} = f32[64,128] {steps[i % 3].format(f'v{i - 1}' if i else 'p0')}")
    body = "\n  ".join([*lines[:-1], f"ROOT {lines[-1]}"])
    return hm.parse(f"ENTRY e {{\n  {body}\n}}")


def by_hand(t: hm.IndexingMap, sizes: list[int], tile: list[int]) -> int:
    """Bytes that all tiles read of one operand, by counting one tile."""
    n_tiles = 1
    for size, n in zip(sizes, tile, strict=True):
        n_tiles *= -(-size // n)
    first = hm.IndexingMap([(0, n - 1) for n in tile], [hm.Expr.dim(k) for k in range(len(tile))])
    return n_tiles * 2 * first.then(t).simplify().count(distinct=True).upper


def main() -> None:
    t = hm.tile(hm.parse(LAYER).entry)
    dense, powers = t.candidates("dense", at_most=1_000_000, seed=1), t.candidates("pow2")
    for name, columns, threads in (("three columns", QUICK, 1), ("three columns", QUICK, 2), ("all columns", None, 1)):
        rate = len(dense) / seconds(lambda c=columns, n=threads: t.evaluate(dense, columns=c, threads=n), 3)
        print(f"evaluate, {name}, {threads} thread(s): {rate / 1e6:.2f} M candidates/s")
    rate = len(powers) / seconds(lambda: t.evaluate(powers, columns=QUICK))
    print(f"evaluate, three columns, powers of two: {rate / 1e6:.2f} M candidates/s")
    read, sizes = t.reads[0].map, [p.size for p in t.params]
    assert read is not None
    some = powers[:200].tolist()
    rate = len(some) / seconds(lambda: [by_hand(read, sizes, tile) for tile in some], 2)
    print(f"one read by composing and counting: {rate:.0f} candidates/s")
    entry = chain(20).entry
    hm.tile(entry)
    print(f"hm.tile, 20 instructions: {seconds(lambda: hm.tile(entry), 20) * 1e6:.0f} us")
    shape = f"f32[{','.join(['4'] * 16)}]"
    order = ",".join(map(str, reversed(range(16))))
    wide = hm.parse(
        f"ENTRY e {{ p = {shape} parameter(0)  ROOT t = {shape} transpose(p), dimensions={{{order}}} }}"
    ).entry
    whole = seconds(lambda: hm.tile(wide).evaluate([[2] * 16]), 10)
    print(f"hm.tile and one candidate, rank 16: {whole * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
