"""Times shardings over 4,096 devices of an array of rank 4: ``python benches/shardings.py``.

Prints for each sharding the time of its device map and of its owner map, and for each pair of shardings what
``hm.reshard`` names and takes: the least of many runs; then the time of all pairs of the shardings of a mesh, in one
call for several arrays.  The aims are 50 us for a map, 5 ms for a reshard, and 20 us for one of many.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from itertools import permutations, product

import hlomap as hm

MESH = "mesh['x'=16,'y'=16,'z'=16]"
SHARDINGS = {
    "iota": "{devices=[8,8,8,8]<=[4096]}",
    "transposed": "{devices=[8,8,8,8]<=[8,8,8,8]T(3,1,2,0)}",
    "replicas": "{devices=[8,8,8,1,8]<=[4096] last_tile_dim_replicate}",
    "rows": "{devices=[64,1,8,8]<=[4096]}",
    "finer": "{devices=[16,4,8,8]<=[4096]}",
    "named": f"{{{MESH}, [{{'x'}}, {{'y':(1)4}}, {{'z'}}, {{}}]}}",
    "replicated": "{replicated}",
    "listed": f"{{devices=[8,8,8,8]{','.join(str(k ^ 5) for k in range(4096))}}}",
}
EVEN, UNEVEN = hm.Shape("f32", [64, 64, 64, 64]), hm.Shape("f32", [60, 61, 62, 63])


def least(call: Callable[[], object], number: int) -> float:
    """Seconds of one call."""
    return min(timeit.repeat(call, number=number, repeat=15)) / number


def of_mesh(size: int) -> list[hm.hlo.Sharding]:
    """The shardings of three dimensions by the axes of a mesh of three axes."""
    found: dict[str, None] = {}
    for dims in product(range(4), repeat=3):
        for order in permutations(range(3)):
            axes = [", ".join(f"'{'xyz'[k]}'" for k in order if dims[k] == dim) for dim in range(3)]
            found[f"{{mesh['x'={size},'y'={size},'z'={size}], [{', '.join(f'{{{names}}}' for names in axes)}]}}"] = None
    return list(map(hm.hlo.Sharding.parse, found))


def main() -> None:
    shardings = {name: hm.hlo.Sharding.parse(text) for name, text in SHARDINGS.items()}
    print(f"{'sharding':12} {'maps':>5} {'device map':>11} {'owner map':>11} {'uneven':>11}")
    for name, sharding in shardings.items():
        n = 1 if name == "listed" else 200
        times = [
            least(lambda s=sharding: s.device_map(EVEN), n),
            least(lambda s=sharding: s.owner_map(EVEN), n),
            least(lambda s=sharding: s.device_map(UNEVEN), n),
        ]
        shown = "".join(f" {t * 1e6:>8.1f} us" for t in times)
        print(f"{name:12} {len(sharding.device_map(EVEN)):>5}{shown}")
    print(f"\n{'from':12} {'to':12} {'collective':18} {'reshard':>10}")
    for a, b in [
        ("iota", "transposed"),
        ("iota", "replicas"),
        ("iota", "rows"),
        ("iota", "finer"),
        ("iota", "replicated"),
        ("iota", "named"),
        ("replicated", "iota"),
        ("iota", "listed"),
    ]:
        found = hm.reshard(EVEN, shardings[a], shardings[b])
        seconds = least(lambda a=a, b=b: hm.reshard(EVEN, shardings[a], shardings[b]), 2)
        print(f"{a:12} {b:12} {found.collective:18} {seconds * 1e3:>7.2f} ms")
    print(f"\n{'mesh':10} {'arrays':18} {'pairs':>8} {'a pair':>11}")
    for size in (2, 4, 8):
        choices = of_mesh(size)
        for kind, step in (("even", 64), ("uneven", 50)):
            shapes = [hm.Shape("f32", [512, 512, step * k]) for k in range(1, 10)]
            pairs = list(product(shapes, choices, choices))
            given = [list(column) for column in zip(*pairs, strict=True)]
            seconds = min(timeit.repeat(lambda given=given: hm.reshard(*given), number=1, repeat=3))
            name = f"{len(shapes)} {kind}, of rank 3"
            print(f"{f'{size}x{size}x{size}':10} {name:18} {len(pairs):>8,} {seconds / len(pairs) * 1e6:>8.1f} us")


if __name__ == "__main__":
    main()
