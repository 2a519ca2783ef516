"""Times a corpus: a plain loop over ``hm.analyze``, ``hlomap analyze`` with one and two workers, XLA's parser alone.

    python benches/corpus.py CORPUS [--copies 4] [--repeat 3]

The HLO texts of CORPUS are copied ``--copies`` times, each with a comment that makes it another content.  All are
timed in turns, and the least of the wall-clock times and of the CPU times counts; CPU time is that of the process and
all its children, user and system.  Every program runs in a process of its own, whose start is part of its time, with
the bytecode of all modules compiled, as an installed package has it.  XLA reads the texts that it accepts; the plain
loop is timed over the same files too.  On two quiet cores ``-j 2`` cannot be faster than half its CPU time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hlomap.hlo.content import content_of_file
from hlomap.hlo.discover import list_files

PLAIN = """
import sys
from pathlib import Path
import hlomap as hm
from hlomap.hlo.load import parse_all
n_rows = 0
for line in open(sys.argv[1]):
    path = line.rstrip("\\n")
    try:
        modules = parse_all(Path(path).read_bytes(), name=path)
    except hm.HlomapError:
        continue
    for module in modules:
        n_rows += hm.analyze(module).to_arrow().num_rows
print(n_rows)
"""

XLA = """
import sys
from pathlib import Path
from jaxlib import _hlo
n = 0
for line in open(sys.argv[1]):
    path = line.rstrip("\\n")
    try:
        _hlo.hlo_module_from_text(Path(path).read_text())
    except Exception:
        continue
    n += 1
print(n)
"""


def copy_texts(corpus: Path, n_copies: int, target: Path) -> list[Path]:
    found = []
    for file in list_files([corpus]):
        content = Path(file.path).read_bytes() if content_of_file(file.path).kind == "HLO" else b""
        if not content.lstrip().startswith(b"HloModule"):
            continue
        for copy in range(n_copies):
            path = target / f"{copy}" / f"{len(found)}.txt"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content + b"\n// copy %d of %d\n" % (copy, len(found)))
            found.append(path)
    return found


def read_by_xla(paths: list[Path], folder: Path) -> list[Path]:
    """The files that XLA's parser takes without aborting the process."""
    names = folder / "one"
    good: list[Path] = []
    waiting = [paths]
    while waiting:
        some = waiting.pop()
        names.write_text("".join(f"{path}\n" for path in some))
        if subprocess.run([sys.executable, "-c", XLA, names], capture_output=True).returncode == 0:
            good += some
        elif len(some) > 1:
            waiting += [some[: len(some) // 2], some[len(some) // 2 :]]
    return good


class Times(NamedTuple):
    """Seconds of a process and its children."""

    wall: float
    cpu: float


def measured(command: list[object], bytecode: Path) -> tuple[Times, str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stderr
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Times(time.perf_counter() - began, cpu), done.stdout


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "texts").mkdir()
        paths = copy_texts(arguments.corpus, arguments.copies, folder / "texts")
        n_bytes = sum(path.stat().st_size for path in paths)
        (folder / "all").write_text("".join(f"{path}\n" for path in paths))
        (folder / "xla").write_text("".join(f"{path}\n" for path in read_by_xla(paths, folder)))
        report = {}

        def program(*command: object) -> Times:
            return measured([sys.executable, "-c", *command], folder / "bytecode")[0]

        def analyze(jobs: int) -> Times:
            shutil.rmtree(folder / "out", ignore_errors=True)
            command = [sys.executable, "-m", "hlomap", "analyze", folder / "texts", "-o", folder / "out", "--json"]
            took, text = measured([*command, "-j", jobs], folder / "bytecode")
            report[jobs] = json.loads(text)
            return took

        runs: dict[str, Callable[[], Times]] = {
            "plain loop": lambda: program(PLAIN, folder / "all"),
            "-j 1": lambda: analyze(1),
            "-j 2": lambda: analyze(2),
            "XLA's parser": lambda: program(XLA, folder / "xla"),
            "plain loop, XLA's files": lambda: program(PLAIN, folder / "xla"),
            "import jaxlib": lambda: program("from jaxlib import _hlo"),
            "import hlomap": lambda: program("import hlomap, pyarrow"),
        }
        program("import hlomap.corpus.work, hlomap.cli.main")  # compiles them
        times: dict[str, list[Times]] = {name: [] for name in runs}
        for _ in range(arguments.repeat):
            for name, run in runs.items():
                times[name].append(run())
        one = report[1]
        print(f"{len(paths)} files, {n_bytes / 1e6:.1f} MB, {one['instructions']} instructions, {one['rows']} rows")
        print(f"{'':<24}{'wall s':>8}{'CPU s':>8}{'MB/s of wall':>14}")
        least = {name: Times(*map(min, zip(*found, strict=True))) for name, found in times.items()}
        for name, (wall, cpu) in least.items():
            print(f"{name:<24}{wall:>8.2f}{cpu:>8.2f}{n_bytes / 1e6 / wall:>14.1f}")
        first, second, plain = least["-j 1"], least["-j 2"], least["plain loop"]
        print(f"-j 1 / plain loop: wall {first.wall / plain.wall:.2f}, CPU {first.cpu / plain.cpu:.2f}")
        print(f"-j 1 / -j 2: wall {first.wall / second.wall:.2f}, bounded by CPU {2 * first.cpu / second.cpu:.2f}")
        workers = sum(one["seconds"].values())
        shares = (f"{stage} {s:.2f} s ({s / workers:.0%})" for stage, s in one["seconds"].items())
        print(f"CPU of the worker of -j 1: {', '.join(shares)}")


if __name__ == "__main__":
    main()
