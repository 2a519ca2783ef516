"""Times what is done with modules of adversarial families as they grow: ``python benches/growth.py [FAMILY...]``.

Prints milliseconds for modules of n, 2 n, 4 n and 8 n parts, and the exponent of the growth from the first that takes
a millisecond to the last: 1 is linear, 2 quadratic.  The families are those of tests/test_growth.py, which counts
steps.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from math import log2
from pathlib import Path

import hlomap as hm

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.families import ACTIONS, FAMILIES, QUADRATIC


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    with suppress(hm.HlomapError):
        call()
    return (time.perf_counter() - start) * 1e3


def main(names: list[str]) -> None:
    for name, family in FAMILIES.items():
        if names and name not in names:
            continue
        sizes = [size // 10 if name in QUADRATIC else size for size in (1000, 2000, 4000, 8000)]
        times: dict[str, list[float]] = {}
        for n in sizes:
            text = family(n)
            times.setdefault("parse", []).append(milliseconds(lambda text=text: hm.parse(text)))
            try:
                module = hm.parse(text)
            except hm.HlomapError:
                continue
            for action, call in ACTIONS.items():
                times.setdefault(action, []).append(milliseconds(lambda call=call, module=module: call(module)))
        for action, row in times.items():
            first = next((i for i, t in enumerate(row) if t >= 1), len(row) - 1)
            n_doublings = len(row) - 1 - first
            exponent = f"{log2(row[-1] / row[first]) / n_doublings:.1f}" if n_doublings else "-"
            figures = " ".join(f"{t:9.1f}" for t in row)
            print(f"{name:22} {action:8} n = {sizes[0]:5} {figures} ms, exponent {exponent}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
