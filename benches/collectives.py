"""Time of `hm.collectives` for a long module, beside that of parsing it.

usage: python benches/collectives.py [NUMBER OF INSTRUCTIONS]
"""

from __future__ import annotations

import sys
from time import perf_counter

import hlomap as hm

HEAD = """HloModule long, num_partitions=8, is_scheduled=true
add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
ENTRY e {
  x0 = f32[64,32] parameter(0)
"""
SUM = "all-reduce({}), channel_id=1, replica_groups=[2,4]<=[8], use_global_device_ids=true, to_apply=add"


def program(n: int, every: int) -> str:
    """A chain of ``n`` instructions, of which one in ``every`` is a collective."""
    operations = (SUM.format(f"x{k}") if k % every == 1 else f"negate(x{k})" for k in range(n))
    lines = [f"  x{k + 1} = f32[64,32] {operation}\n" for k, operation in enumerate(operations)]
    return HEAD + "".join(lines) + f"  ROOT r = f32[64,32] copy(x{n})\n}}"


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 40_000
    for every in (1000, 100, 10):
        text = program(n, every)
        parsing, listing = [], []
        for _ in range(5):
            begin = perf_counter()
            module = hm.parse(text)
            parsing.append(perf_counter() - begin)
            begin = perf_counter()
            table = hm.collectives(module)
            listing.append(perf_counter() - begin)
        times = f"parse {1e3 * min(parsing):.1f} ms, collectives {1e3 * min(listing):.1f} ms"
        print(f"{n:,} instructions, {len(table):,} collectives: {times}")


if __name__ == "__main__":
    main()
