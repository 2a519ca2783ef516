"""The share of exact leaves of counted loops in HLO files, and the reasons of the others.

Run ``python benches/loops.py PATH...`` with HLO files, or directories of them.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import hlomap as hm


def loops(module: hm.Module) -> Iterator[hm.Instruction]:
    """All loops of a module."""
    return (at for computation in module.computations for at in computation.instructions if at.opcode == "while")


def exact_leaves(modules: Iterable[hm.Module]) -> tuple[Counter[str], Counter[str]]:
    """The numbers of loops and of their leaves, and of the reasons why leaves are not exact or loops not counted.

    A leaf is exact if its maps are, from the output to the operand.  Names and numbers are left out of reasons.
    """
    found: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for module in modules:
        for at in loops(module):
            loop = hm.loop(at)
            found["loops"] += 1
            if loop.trip_count is None:
                reasons[f"not counted: {_form(loop.reason)}"] += 1
                continue
            found["counted"] += 1
            for leaf in loop.carried:
                maps = hm.output_to_input(at, leaf.leaf)[0]
                found["leaves"] += 1
                found["exact" if maps.exact else "unknown" if maps.is_unknown else "over"] += 1
                if not maps.exact:
                    reasons[_form(maps.reason)] += 1
    return found, reasons


def _form(reason: str | None) -> str:
    text = re.sub(r"\b(offset|branch of|of) [\w.-]+ (depends|runs)", r"\1 NAME \2", reason or "no reason")
    return re.sub(r"\[[\d, ]*\]|\d+", "N", text)


def main() -> None:
    """Print one table for each path."""
    for path in map(Path, sys.argv[1:]):
        files = sorted(path.glob("**/*.hlo")) if path.is_dir() else [path]
        begin = time.perf_counter()
        found, reasons = exact_leaves(hm.load(str(file)) for file in files)
        seconds = time.perf_counter() - begin
        share = found["exact"] / max(found["leaves"], 1)
        print(f"{path.name}: {found['counted']} of {found['loops']} loops counted, {found['leaves']} leaves,")
        print(
            f"  {found['exact']} exact ({share:.1%}), {found['over']} over, {found['unknown']} unknown, {seconds:.1f} s"
        )
        for reason, n in reasons.most_common():
            print(f"  {n:5} {reason}")


if __name__ == "__main__":
    main()
