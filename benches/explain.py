"""Times ``hm.explain`` on every instruction of a folder of HLO files: ``python benches/explain.py FOLDER...``.

Prints how many instructions were explained, how many raised, and milliseconds per instruction: median, 99th percentile
and the slowest with its name.  ``str()`` of the explanation is timed with it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

import hlomap as hm


def main(folders: list[str]) -> int:
    warm_up = """ENTRY e { p = f32[4,3] parameter(0)  w = f32[3,2] parameter(1)
      d = f32[4,2] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT r = f32[8] reshape(d) }"""
    for instruction in hm.parse(warm_up).entry:
        str(hm.explain(instruction))  # imports what is imported at first use
    seconds: list[tuple[float, str]] = []
    failures: Counter[str] = Counter()
    for file in sorted(path for folder in folders for path in Path(folder).rglob("*") if path.is_file()):
        try:
            modules = hm.parse_all(file.read_bytes(), name=str(file))
        except hm.HlomapError:
            continue
        for module in modules:
            for number in range(module.n_instructions):
                instruction = module.instruction(number)
                start = time.perf_counter()
                try:
                    str(hm.explain(instruction))
                except Exception as error:
                    failures[f"{file.name} {instruction.name}: {type(error).__name__}: {error}"] += 1
                seconds.append((time.perf_counter() - start, f"{file.name} {instruction.name} {instruction.opcode}"))
    times = np.array([one for one, _ in seconds]) * 1e3
    slowest = max(seconds, default=(0.0, ""))
    print(f"{len(times)} instructions, {sum(failures.values())} raised")
    if len(times):
        print(f"median {np.median(times):.3f} ms, p99 {np.percentile(times, 99):.3f} ms, mean {times.mean():.3f} ms")
        print(f"slowest {slowest[0] * 1e3:.1f} ms: {slowest[1]}")
    for text, n in failures.most_common(20):
        print(n, text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
