"""The time of plans of shardings of transformers, on one core: the first, the same again, and 1,000 random ones.

Run ``python benches/plans.py``.  The programs are those of ``tests/plans/oracle``.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.plans import Program, programs

import hlomap as hm


def seconds(run: Callable[[], Any], n: int = 5) -> float:
    """The least time of some runs."""
    times = []
    for _ in range(n):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def candidates(names: list[str], ranks: list[int], n: int) -> list[dict[str, Any]]:
    """Random specs of all parameters."""
    draw = random.Random(7)

    def spec(rank: int) -> tuple[Any, ...]:
        entries: list[Any] = [[] for _ in range(rank)]
        for axis in draw.sample(["data", "model"], 2):
            if rank and draw.random() < 0.7:
                entries[draw.randrange(rank)].append(axis)
        return tuple(tuple(entry) or None for entry in entries)

    return [dict(zip(names, map(spec, ranks), strict=True)) for _ in range(n)]


def measure(program: Program) -> str:
    """A row: the first plan, the same plan again, and many others."""
    n = sum(1 for _ in program.module.instructions)
    sharder = hm.sharder(program.module, mesh=program.mesh)
    parameters = program.module.entry.parameters
    many = candidates([p.name for p in parameters], [p.shape.rank for p in parameters], 1000)
    first = seconds(program.plan, 1)
    sharder.plan(program.specs)
    again = seconds(lambda: sharder.plan(program.specs))
    all_of_them = seconds(lambda: sharder.evaluate(many), 1)
    return (
        f"{program.name}: {n:,} instructions; first plan {first * 1e3:,.0f} ms, again {again * 1e3:.2f} ms, "
        f"1,000 random candidates {all_of_them:.2f} s"
    )


def main() -> None:
    programs("hand_picked")[0].plan()  # imports
    for program in programs("transformers"):
        print(measure(program))


if __name__ == "__main__":
    main()
