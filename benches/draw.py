"""Times ``hm.draw`` on every instruction of a folder of HLO files: ``python benches/draw.py FOLDER... [--files N]``.

Prints how many pictures were drawn as SVG, how many raised, and milliseconds and bytes per picture: median, 99th
percentile and the most, with its name.  With ``--files`` only so many files are taken, evenly spread.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

import numpy as np

import hlomap as hm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int)
    arguments = parser.parse_args()
    files = sorted(path for folder in arguments.folders for path in folder.rglob("*") if path.is_file())
    if arguments.files:
        files = files[:: max(1, len(files) // arguments.files)]
    hm.draw(hm.parse("ENTRY e { p = f32[4] parameter(0)  ROOT n = f32[4] negate(p) }")["n"]).svg  # noqa: B018 (imports)
    seconds: list[tuple[float, str]] = []
    sizes: list[int] = []
    failures: Counter[str] = Counter()
    n_modules = 0
    for file in files:
        try:
            modules = hm.parse_all(file.read_bytes(), name=str(file))
        except hm.HlomapError:
            continue
        n_modules += len(modules)
        for module in modules:
            for number in range(module.n_instructions):
                instruction = module.instruction(number)
                start = time.perf_counter()
                try:
                    sizes.append(len(hm.draw(instruction).svg))
                except Exception as error:
                    failures[f"{file.name} {instruction.name}: {type(error).__name__}: {error}"] += 1
                seconds.append((time.perf_counter() - start, f"{file.name} {instruction.name} {instruction.opcode}"))
    print(f"{n_modules} modules, {len(seconds)} pictures, {sum(failures.values())} raised")
    for unit, values in (("ms", [one * 1e3 for one, _ in seconds]), ("bytes", sizes)):
        if values:
            found = np.array(values)
            middle, high = np.percentile(found, (50, 99))
            print(f"median {middle:,.1f} {unit}, p99 {high:,.1f} {unit}, most {found.max():,.1f} {unit}")
    print(f"slowest: {max(seconds, default=(0.0, ''))[1]}")
    for text, n in failures.most_common(20):
        print(n, text)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
