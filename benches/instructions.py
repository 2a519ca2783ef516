"""Times ``hm.explain`` or ``hm.draw`` on every instruction of a folder of HLO files.

    python benches/instructions.py {explain,draw} FOLDER... [--files N]

Prints how many answers there are, how many raised, and milliseconds and characters of each: median, 99th percentile and
the most, and the slowest instruction.  ``str()`` of an explanation, and the image of a picture, are timed with it.
With ``--files`` only so many files are taken, evenly spread.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hlomap as hm

ANSWERS: dict[str, Callable[[hm.Instruction], str]] = {
    "explain": lambda instruction: str(hm.explain(instruction)),
    "draw": lambda instruction: hm.draw(instruction).svg,
}
WARM_UP = """ENTRY e { p = f32[4,3] parameter(0)  w = f32[3,2] parameter(1)
  d = f32[4,2] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}  ROOT r = f32[8] reshape(d) }"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("answer", choices=ANSWERS)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int)
    arguments = parser.parse_args()
    answer = ANSWERS[arguments.answer]
    files = sorted(path for folder in arguments.folders for path in folder.rglob("*") if path.is_file())
    if arguments.files:
        files = files[:: max(1, len(files) // arguments.files)]
    for instruction in hm.parse(WARM_UP).entry:
        answer(instruction)  # imports what is imported at first use
    seconds: list[tuple[float, str]] = []
    sizes: list[int] = []
    failures: Counter[str] = Counter()
    for file in files:
        try:
            modules = hm.parse_all(file.read_bytes(), name=str(file))
        except hm.HlomapError:
            continue
        for instruction in (module.instruction(n) for module in modules for n in range(module.n_instructions)):
            start = time.perf_counter()
            try:
                sizes.append(len(answer(instruction)))
            except Exception as error:
                failures[f"{file.name} {instruction.name}: {type(error).__name__}: {error}"] += 1
            seconds.append((time.perf_counter() - start, f"{file.name} {instruction.name} {instruction.opcode}"))
    print(f"{len(seconds)} instructions, {sum(failures.values())} raised")
    for unit, values in (("ms", [one * 1e3 for one, _ in seconds]), ("characters", sizes)):
        if values:
            middle, high, most = np.percentile(values, (50, 99, 100))
            print(f"median {middle:,.2f} {unit}, p99 {high:,.2f} {unit}, most {most:,.2f} {unit}")
    print(f"slowest: {max(seconds, default=(0.0, ''))[1]}")
    for text, n in failures.most_common(20):
        print(n, text)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
