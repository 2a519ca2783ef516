"""Times a corpus: a plain loop over ``hm.analyze``, ``hlomap analyze`` with one and two workers, XLA's parser alone.

    python benches/corpus.py CORPUS [--copies 4] [--repeat 3]

The HLO texts of CORPUS are copied ``--copies`` times, each with a comment that makes it another content.  All are
timed in turns, and the least of the wall-clock times counts.  Every program runs in a process of its own, whose start
is part of its time.  XLA reads the texts that it accepts; the plain loop is timed over the same files too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hlomap.io.discover import detect_kind, list_files

PLAIN = """
import sys
from pathlib import Path
import hlomap as hm
from hlomap.io.load import parse_all
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
        content = Path(file.path).read_bytes() if detect_kind(file) == "HLO" else b""
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


def seconds(command: list[object]) -> tuple[float, str]:
    began = time.perf_counter()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return time.perf_counter() - began, done.stdout


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
        shares = {}

        def analyze(jobs: int) -> float:
            shutil.rmtree(folder / "out", ignore_errors=True)
            command = [sys.executable, "-m", "hlomap", "analyze", folder / "texts", "-o", folder / "out", "--json"]
            took, report = seconds([*command, "-j", jobs])
            shares[jobs] = json.loads(report)
            return took

        runs = {
            "plain loop": lambda: seconds([sys.executable, "-c", PLAIN, folder / "all"])[0],
            "-j 1": lambda: analyze(1),
            "-j 2": lambda: analyze(2),
            "XLA's parser": lambda: seconds([sys.executable, "-c", XLA, folder / "xla"])[0],
            "plain loop, XLA's files": lambda: seconds([sys.executable, "-c", PLAIN, folder / "xla"])[0],
            "import jaxlib": lambda: seconds([sys.executable, "-c", "from jaxlib import _hlo"])[0],
            "import hlomap": lambda: seconds([sys.executable, "-c", "import hlomap, pyarrow"])[0],
        }
        times = {name: [] for name in runs}
        for _ in range(arguments.repeat):
            for name, run in runs.items():
                times[name].append(run())
        report = shares[1]
        print(
            f"{len(paths)} files, {n_bytes / 1e6:.1f} MB, {report['instructions']} instructions, {report['rows']} rows"
        )
        least = {name: min(found) for name, found in times.items()}
        for name, found in least.items():
            print(f"{name:<24} {found:6.2f} s  {n_bytes / 1e6 / found:6.1f} MB/s")
        one, two, plain = least["-j 1"], least["-j 2"], least["plain loop"]
        print(f"-j 1 / plain loop {one / plain:.2f}, -j 1 / -j 2 {one / two:.2f}")
        workers = sum(report["seconds"].values())
        print(
            "CPU of the worker: "
            + ", ".join(f"{k} {v:.2f} s ({v / workers:.0%})" for k, v in report["seconds"].items())
        )


if __name__ == "__main__":
    main()
