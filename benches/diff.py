"""Compares every module of two folders by name: ``python benches/diff.py BEFORE AFTER``.

Prints for each output of an entry that is not proved to depend on the same elements why not, then the number of pairs,
of proved outputs, and of matched instructions, and the seconds.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import hlomap as hm


def main(before: Path, after: Path) -> int:
    statuses: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    n_pairs = n_equal = n_removed = n_not_compared = 0
    slowest = (0.0, "")
    start = time.perf_counter()
    for file in sorted(before.iterdir()):
        try:
            pair = [hm.load(folder / file.name) for folder in (before, after)]
        except (hm.HlomapError, OSError):
            continue
        began = time.perf_counter()
        found = hm.diff(*pair)
        slowest = max(slowest, (time.perf_counter() - began, file.name))
        n_pairs += 1
        n_removed += len(found.removed)
        n_equal += all(output.status == "same" for output in found.outputs)
        n_not_compared += not found.outputs
        statuses.update(output.status for output in found.outputs)
        matched.update(match.how for match in found.matches)
        for output in found.outputs:
            if output.status != "same":
                print(file.name, output)
    print(f"{n_pairs} pairs, in {n_equal} every output equal ({n_not_compared} of them without any dependence)")
    print(f"dependence: {dict(statuses)}")
    print(f"instructions: {dict(matched)}, not matched: {n_removed}")
    print(f"{time.perf_counter() - start:.1f} s, slowest {slowest[0]:.2f} s: {slowest[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
