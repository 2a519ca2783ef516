"""Times single calls on tiny inputs and the first use in a process: ``python benches/calls.py [PATTERN]``.

Every figure is CPU time, the minimum of many.  Calls, in microseconds: the same call again, the first about a module
that was just parsed, and that with empty caches of rules.  First uses, in milliseconds: of a whole process, and beyond
one that does nothing, with the number of modules of hlomap that it imports, and whether it imports NumPy.  With
``PATTERN`` only rows that contain it.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hlomap as hm
from hlomap.analysis import rule_cache

TEXT = """HloModule m
%sum { %a = f32[] parameter(0) %b = f32[] parameter(1) ROOT %c = f32[] add(%a, %b) }
%f {
  %a = f32[128,256] parameter(0) %w = f32[256] parameter(1) %e = f32[128,256] exponential(%a)
  %wb = f32[128,256] broadcast(%w), dimensions={1} %m = f32[128,256] multiply(%e, %wb)
  ROOT %t = f32[256,128] transpose(%m), dimensions={1,0}
}
%g {
  %a = f32[128,256] parameter(0) %z = f32[] constant(0) %e = f32[128,256] exponential(%a)
  ROOT %t = f32[128] reduce(%e, %z), dimensions={1}, to_apply=%sum
}
ENTRY %e {
  %p = f32[128,256] parameter(0) %w = f32[256] parameter(1) %q = f32[256,128] parameter(2)
  %negate = f32[128,256] negate(%p) %fusion = f32[256,128] fusion(%negate, %w), kind=kLoop, calls=%f
  %reduction = f32[128] fusion(%negate), kind=kInput, calls=%g
  %dot = f32[256,256] dot(%q, %negate), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %reshape = f32[32768] reshape(%fusion)
  ROOT %o = (f32[32768], f32[128], f32[256,256]) tuple(%reshape, %reduction, %dot)
}"""

ABOUT_INSTRUCTIONS = {
    "output_to_input": ("negate", "fusion", "dot"),
    "input_to_output": ("fusion",),
    "indexing": ("fusion",),
    "backward_slice": ("fusion",),
    "forward_slice": ("p",),
    "tile": ("fusion", "dot"),
    "coalescing": ("fusion", "reduction"),
    "utilization": ("fusion",),
    "schedule": ("fusion", "reduction"),
    "is_bitcast": ("reshape", "fusion"),
    "explain": ("fusion",),
}

FIRST_USES = {
    "import hlomap": "",
    "import numpy": "import numpy",
    "parse": "hm.parse(text)",
    **{name: f"hm.{name}(hm.parse(text)['{of[0]}'])" for name, of in ABOUT_INSTRUCTIONS.items()},
    "analyze": "hm.analyze(hm.parse(text))",
    "to_arrow": "hm.analyze(hm.parse(text)).to_arrow()",
    "hlomap --help": "command('--help')",
    "hlomap analyze FILE": "command('analyze', file, '-o', file + '.parquet', '-q')",
}

PROLOGUE = """
import atexit, os, sys
import hlomap as hm
text, file = sys.argv[1:]
def command(*arguments):
    from hlomap.cli.main import main
    main(arguments)
names = sys.modules
tell = lambda: os.write(2, b"%d %s" % (sum(n.split(".")[0] == "hlomap" for n in names), b" NumPy" * ("numpy" in names)))
atexit.register(tell)
"""


def microseconds(call: Callable[[], object], n_calls: int = 50, rounds: int = 40) -> float:
    def round_() -> float:
        start = time.thread_time()
        for _ in range(n_calls):
            call()
        return time.thread_time() - start

    call()
    return min(round_() for _ in range(rounds)) / n_calls * 1e6


def microseconds_on_new(call: Callable[[hm.Module], object], *, forget_rules: bool, rounds: int = 200) -> float:
    def once() -> float:
        if forget_rules:
            rule_cache.clear()
        module = hm.parse(TEXT)
        start = time.thread_time()
        call(module)
        return time.thread_time() - start

    return min(once() for _ in range(rounds)) * 1e6


def milliseconds_of_process(code: str, file: str, rounds: int = 7) -> tuple[float, str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(file).parent)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def once() -> tuple[float, str]:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", code, TEXT, file]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return spent * 1e3, run.stderr.strip()

    return min(once() for _ in range(rounds))


def print_calls(pattern: str) -> None:
    module = hm.parse(TEXT)
    tiling = hm.tile(module["fusion"])
    swap = hm.IndexingMap.parse("(d0, d1) -> (d1, d0), domain: d0 in [0, 255], d1 in [0, 127]")
    point, candidate = np.array([[3, 4]]), np.array([[8, 16]])
    calls: dict[str, Callable[[], object]] = {
        "IndexingMap.evaluate(one point)": lambda: swap.evaluate([3, 4]),
        "IndexingMap.evaluate(array of one)": lambda: swap.evaluate(point),
        "simplify_many(one)": lambda: hm.maps.simplify_many([swap]),
        "compose_many(one)": lambda: hm.maps.compose_many([(swap, swap)]),
        "count_many(one)": lambda: hm.maps.count_many([swap]),
        "bounds_many(one)": lambda: hm.maps.bounds_many([swap]),
        "Tiling.evaluate(one)": lambda: tiling.evaluate(candidate),
        "utilization(entry)": lambda: hm.utilization(module.entry),
        "analyze": lambda: hm.analyze(module),
        "analyze, to_arrow": lambda: hm.analyze(module).to_arrow(),
    }
    print(f"{'call':36}{'again':>9}{'new':>9}{'no rules':>9} us")
    for name, call in calls.items():
        if pattern in name:
            print(f"{name:36}{microseconds(call):9.1f}", flush=True)
    for function, instructions in ABOUT_INSTRUCTIONS.items():
        ask = getattr(hm, function)
        for name in instructions:
            if pattern in f"{function}({name})":
                again = microseconds(lambda ask=ask, one=module[name]: ask(one))
                new, cold = (
                    microseconds_on_new(lambda m, ask=ask, name=name: ask(m[name]), forget_rules=forget)
                    for forget in (False, True)
                )
                print(f"{f'{function}({name})':36}{again:9.1f}{new:9.1f}{cold:9.1f}", flush=True)


def print_first_uses(pattern: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "module.hlo")
        Path(file).write_text(TEXT)
        nothing, _ = milliseconds_of_process("", file)
        print(f"\n{'first use':36}{'process':>9}{'beyond':>9} ms  modules")
        for name, code in FIRST_USES.items():
            if pattern in name:
                spent, imported = milliseconds_of_process(PROLOGUE + code, file)
                print(f"{name:36}{spent:9.0f}{spent - nothing:9.0f}     {imported}", flush=True)


if __name__ == "__main__":
    gc.disable()
    chosen = sys.argv[1] if len(sys.argv) > 1 else ""
    print_calls(chosen)
    print_first_uses(chosen)
