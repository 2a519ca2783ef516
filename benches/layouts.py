"""Compares layouts with isl and NumPy: ``python benches/layouts.py [LAYOUTS]``.

Prints three comparisons:

* the floordiv and mod nodes in the simplified position maps of ``LAYOUTS`` (default 300) random layouts, for hlomap and
  isl (``pip install islpy``; skipped if it is missing).  Tiles are no longer than the rank;
* the times of packing and unpacking, relative to the NumPy reshape, transpose and copy that give the same buffer;
* the time of building one linear index map.
"""

from __future__ import annotations

import random
import re
import sys
import timeit
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hlomap as hm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.layout_reference import random_shape

try:
    import islpy as isl
except ImportError:
    isl = None

SEED = 7
REPEATS = 5


def nodes_of_isl(m: hm.IndexingMap) -> int:
    """The number of divisions and remainders in the code that isl generates for a map within its domain."""
    results = isl.PwMultiAff(m.to_isl())
    domain = results.domain()
    build = isl.AstBuild.from_context(domain)
    pieces = (results.get_at(k).gist(domain).coalesce() for k in range(len(m.results)))
    return sum(len(re.findall(r"floord|%|/", build.expr_from_pw_aff(piece).to_C_str())) for piece in pieces)


def random_layout(rng: random.Random) -> hm.Shape:
    while True:
        shape = random_shape(rng, largest=3000)
        tiles = shape.layout.tiles if shape.layout else ()
        if shape.n_elements and all(len(tile) <= shape.rank for tile in tiles):
            return shape


def compare_nodes(n: int) -> None:
    rng, counts, totals = random.Random(SEED), Counter(), Counter()
    for _ in range(n):
        shape = random_layout(rng)
        for question in (hm.layouts.linear_index, hm.layouts.logical_index):
            raw = question(shape)
            simplified = raw.simplify(keep_point_dims=True)
            ours = sum(len(re.findall(r"floordiv|mod", str(r))) for r in simplified.results)
            theirs = min(nodes_of_isl(raw), nodes_of_isl(simplified))
            counts["fewer" if ours < theirs else "as many" if ours == theirs else "more"] += 1
            totals["hlomap"] += ours
            totals["isl"] += theirs
    print(f"{n} random layouts, both maps of each; div/mod nodes: hlomap {totals['hlomap']}, isl {totals['isl']}")
    kinds = ", ".join(f"{kind}: {counts[kind]}" for kind in ("fewer", "as many", "more"))
    print(f"number of maps by the nodes that hlomap leaves compared with isl: {kinds}")


def best(work: Callable[[], object]) -> float:
    """The minimum wall-clock time of ``REPEATS`` runs, in seconds."""
    return min(timeit.repeat(work, number=1, repeat=REPEATS))


def compare_packing() -> None:
    words = np.arange(8192 * 8192, dtype=np.float32).reshape(8192, 8192)
    halves, octets = words.astype(np.uint16), words.astype(np.uint8)
    cases = [
        (words, "f32[8192,8192]{1,0:T(8,128)}", (1024, 8, 64, 128), (0, 2, 1, 3)),
        (words, "f32[8192,8192]{0,1}", (8192, 8192), (1, 0)),
        (halves, "u16[8192,8192]{1,0:T(8,128)(2,1)}", (1024, 4, 2, 64, 128), (0, 3, 1, 4, 2)),
        (octets, "u8[8192,8192]{1,0:T(32,128)(4,1)}", (256, 8, 4, 64, 128), (0, 3, 1, 4, 2)),
    ]
    print(f"{'':38}{'NumPy ms':>9}{'pack':>7}{'unpack':>8}   (relative to NumPy, one thread)")
    for array, text, sizes, order in cases:
        shape = hm.Shape.parse(text)

        def by_numpy(array=array, sizes=sizes, order=order):
            return array.reshape(sizes).transpose(order).copy()

        buffer = hm.layouts.pack(array, shape, threads=1)
        assert np.array_equal(buffer.reshape(-1), by_numpy().reshape(-1))
        reference = best(by_numpy)
        pack = best(lambda array=array, shape=shape: hm.layouts.pack(array, shape, threads=1))
        unpack = best(lambda buffer=buffer, shape=shape: hm.layouts.unpack(buffer, shape, threads=1))
        print(f"{text:38}{reference * 1e3:9.0f}{pack / reference:7.2f}{unpack / reference:8.2f}")


def time_index() -> None:
    for text in ("f32[1024,1024]", "f32[3,5]{1,0:T(2,2)}", "bf16[4,7,1024,1000]{2,3,1,0:T(8,128)(2,1)}"):
        shape = hm.Shape.parse(text)
        seconds = (
            min(timeit.repeat(lambda shape=shape: hm.layouts.linear_index(shape), number=2000, repeat=REPEATS)) / 2000
        )
        print(f"linear_index({text}): {seconds * 1e6:.1f} us")


def main() -> None:
    if isl is None:
        print("islpy is not installed: skipping the comparison of div/mod nodes")
    else:
        compare_nodes(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
    compare_packing()
    time_index()


if __name__ == "__main__":
    main()
