"""The share of exact leaves of counted loops in HLO files, the reasons of the others, and what exact maps cost.

Run ``python benches/loops.py PATH...`` with HLO files, or directories of them.  With ``--time`` it prints the time of
the first analysis, with empty caches, of the files that have loops, beside that of one in which no loop is counted, so
that all maps are those of any number of iterations; the same for a second analysis; and the time of a loop by its
number of iterations.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import hlomap as hm
from hlomap.analysis import rule_cache
from hlomap.ops import loops as rules

REPEATS = 7


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
            if isinstance(loop.trip_count, hm.Unknown):
                reasons[f"not counted: {_form(loop.trip_count.reason)}"] += 1
                continue
            found["counted"] += 1
            for leaf in loop.carried:
                maps = hm.output_to_input(at, leaf.shape_index)[0]
                found["leaves"] += 1
                found["exact" if maps.exact else "unknown" if maps.is_unknown else "over"] += 1
                if not maps.exact:
                    reasons[_form(maps.reason)] += 1
    return found, reasons


def _form(reason: str | None) -> str:
    text = re.sub(r"\b(offset|branch of|of) [\w.-]+ (depends|runs)", r"\1 NAME \2", reason or "no reason")
    return re.sub(r"\[[\d, ]*\]|\d+", "N", text)


LOOP = """HloModule scan
body {
  s = (s32[], f32[5], f32[COUNT,5], f32[COUNT,3], f32[5,5], f32[5,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  h = f32[5] get-tuple-element(s), index=1
  ys = f32[COUNT,5] get-tuple-element(s), index=2
  xs = f32[COUNT,3] get-tuple-element(s), index=3
  w = f32[5,5] get-tuple-element(s), index=4
  u = f32[5,3] get-tuple-element(s), index=5
  zero = s32[] constant(0)
  x = f32[1,3] dynamic-slice(xs, i, zero), dynamic_slice_sizes={1,3}
  row = f32[3] reshape(x)
  wh = f32[5] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ux = f32[5] dot(u, row), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  sum = f32[5] add(wh, ux)
  next = f32[5] tanh(sum)
  y = f32[1,5] reshape(next)
  written = f32[COUNT,5] dynamic-update-slice(ys, y, i, zero)
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[5], f32[COUNT,5], f32[COUNT,3], f32[5,5], f32[5,3]) tuple(j, next, written, xs, w, u)
}
condition {
  s = (s32[], f32[5], f32[COUNT,5], f32[COUNT,3], f32[5,5], f32[5,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(COUNT)
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY e {
  zero = s32[] constant(0)
  h = f32[5] parameter(0)
  ys = f32[COUNT,5] parameter(1)
  xs = f32[COUNT,3] parameter(2)
  w = f32[5,5] parameter(3)
  u = f32[5,3] parameter(4)
  s = (s32[], f32[5], f32[COUNT,5], f32[COUNT,3], f32[5,5], f32[5,3]) tuple(zero, h, ys, xs, w, u)
  ROOT r = (s32[], f32[5], f32[COUNT,5], f32[COUNT,3], f32[5,5], f32[5,3]) while(s), condition=condition, body=body
}"""


def analysis_times(texts: list[str]) -> dict[str, float]:
    """The seconds of the processor that analyses take, the least of several: summed over modules.

    ``first`` with empty caches, ``second`` with the caches of the first one; ``uncounted`` where no loop is counted.
    """
    count = rules.loop_maps
    least: dict[tuple[str, int], float] = {}
    try:
        for _ in range(REPEATS):
            for i, text in enumerate(texts):
                # In turns, so that both see the same load of the machine.
                for suffix, find in (("", count), (" uncounted", lambda *_, **__: None)):
                    rules.loop_maps = find
                    rule_cache.clear()
                    for name in ("first", "second"):
                        module = hm.parse(text)
                        begin = time.process_time()
                        len(hm.analyze(module))
                        seconds = time.process_time() - begin
                        key = (name + suffix, i)
                        least[key] = min(least.get(key, seconds), seconds)
    finally:
        rules.loop_maps = count
        rule_cache.clear()
    found: Counter[str] = Counter()
    for (name, _), seconds in least.items():
        found[name] += seconds
    return dict(found)


def print_times(path: Path, files: list[Path]) -> None:
    """What exact maps cost in the files that have loops."""
    texts = [text for text in (file.read_text() for file in files) if " while(" in text]
    found = analysis_times(texts)
    print(f"{path.name}: {len(texts)} modules with loops")
    for name in ("first", "second"):
        with_loops, without = found[name], found[f"{name} uncounted"]
        print(
            f"  {name} analysis {with_loops * 1e3:.0f} ms, uncounted {without * 1e3:.0f} ms: {with_loops / without:.2f}"
        )


def main() -> None:
    """Print one table for each path."""
    arguments = [a for a in sys.argv[1:] if a != "--time"]
    if timed := len(arguments) < len(sys.argv) - 1:
        for n in (10, 10**3, 10**6, 10**9):
            seconds = analysis_times([LOOP.replace("COUNT", str(n))])["first"]
            print(f"a loop of {n} iterations: {seconds * 1e3:.2f} ms")
    for path in map(Path, arguments):
        files = sorted(path.glob("**/*.hlo")) if path.is_dir() else [path]
        if timed:
            print_times(path, files)
            continue
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
