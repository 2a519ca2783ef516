"""Ends runs of ``hlomap analyze`` at random moments and compares what the last run leaves with an undisturbed run.

    python benches/kill_table.py CORPUS [--kills 200] [--seed 0] [--kinds parent,worker,...]

CORPUS is a folder with at least 2,000 files.  Each dataset suffers up to five disturbances of one kind; then the same
command runs to its end.  The dataset must equal the undisturbed one row for row, apart from times, with nothing else
in its folder and no process left.  Needs psutil; the kinds ``scheduler`` and ``dask_worker`` need Dask, ``disk`` needs
root on Linux for a small file system.  Prints a table: kind, datasets, disturbances that hit a run, equal datasets.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
from pyarrow import parquet

DISTURBANCES = 5  # of one dataset, at most
KINDS = ("parent", "worker", "both", "interrupt", "terminate", "disk", "pulled", "removed", "scheduler", "dask_worker")


class Table:
    """The rows of a dataset in a fixed order, without times."""

    def __init__(self, dataset: Path) -> None:
        files = parquet.read_table(dataset / "files").drop_columns(["seconds"])
        self.files = files.sort_by("path")
        rows = parquet.read_table(dataset / "rows")
        order = [name for name, kind in zip(rows.schema.names, rows.schema.types, strict=True) if _sortable(kind)]
        self.rows = rows.sort_by([(name, "ascending") for name in order])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.files.equals(other.files) and self.rows.equals(other.rows)

    __hash__ = None  # type: ignore[assignment]


def _sortable(kind: pa.DataType) -> bool:
    return not pa.types.is_nested(kind) and not pa.types.is_dictionary(kind)


class Run:
    """One process of ``hlomap analyze``."""

    def __init__(self, corpus: Path, output: Path, engine: str = "local") -> None:
        command = [sys.executable, "-m", "hlomap", "analyze", str(corpus), "-o", str(output), "-j", "2", "-q"]
        self.process = subprocess.Popen(
            [*command, "--engine", engine], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.family = psutil.Process(self.process.pid)

    def sleep(self, seconds: float) -> bool:
        """Whether the run is still at work after a time."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.poll() is None

    def children(self) -> list[psutil.Process]:
        try:
            return self.family.children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def end(self) -> int:
        _, messages = self.process.communicate(timeout=300)
        assert "Traceback" not in messages or "in <module>" in messages, messages  # an interrupt during imports
        return self.process.returncode


class Dask:
    """A scheduler and two workers."""

    def __init__(self) -> None:
        self.scheduler, self.address = self._start("scheduler", "--port", "0")
        self.workers = [self._worker() for _ in range(2)]

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--nthreads", "1", "--no-nanny")[0]

    def _start(self, kind: str, *options: str) -> tuple[subprocess.Popen[bytes], str]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options, "--host", "127.0.0.1"]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen([*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=log)
            while process.poll() is None:
                text = os.pread(log.fileno(), 1 << 16, 0).decode()
                if found := re.search(r"(?:Scheduler|Start worker) at: +(tcp://\S+)\n", text):
                    return process, found[1]
                time.sleep(0.05)
        raise AssertionError("Dask does not start")

    def kill_worker(self) -> None:
        self.workers.pop(random.randrange(2)).kill()
        self.workers.append(self._worker())

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


def disturb(kind: str, corpus: Path, output: Path, moment: float) -> bool:
    """Starts a run and disturbs it at a moment; whether it was still at work then."""
    if kind in ("scheduler", "dask_worker"):
        cluster = Dask()
        try:
            run = Run(corpus, output, f"dask:{cluster.address}")
            hit = run.sleep(moment + 1.0)  # the client's imports
            if hit and kind == "scheduler":
                cluster.scheduler.kill()
            elif hit:
                cluster.kill_worker()
            run.end()
        finally:
            cluster.close()
        return hit
    with full_disk(output) if kind == "disk" else contextlib.nullcontext():
        run = Run(corpus, output)
        hit = run.sleep(moment) or kind == "disk"
        children = run.children()
        if hit:
            DISTURB[kind](run, output)
        code = run.end()
        hit = hit and (kind != "disk" or code == 3)
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not alive, f"{kind}: {alive} outlive the run"
    return hit


def kill_worker(run: Run, output: Path) -> None:
    children = run.children()
    if children:
        with contextlib.suppress(psutil.NoSuchProcess):
            random.choice(children).kill()


def kill_both(run: Run, output: Path) -> None:
    kill_worker(run, output)
    run.process.kill()


def pull(run: Run, output: Path) -> None:
    """The folder is away while the run ends, and comes back."""
    if output.exists():
        output.rename(output.with_name("pulled"))
        run.end()
        shutil.rmtree(output, ignore_errors=True)
        output.with_name("pulled").rename(output)


DISTURB: dict[str, Callable[[Run, Path], None]] = {
    "parent": lambda run, output: run.process.kill(),
    "worker": kill_worker,
    "both": kill_both,
    "interrupt": lambda run, output: run.process.send_signal(signal.SIGINT),
    "terminate": lambda run, output: run.process.send_signal(signal.SIGTERM),
    "disk": lambda run, output: None,
    "pulled": pull,
    "removed": lambda run, output: shutil.rmtree(output, ignore_errors=True),
}


@contextlib.contextmanager
def full_disk(output: Path) -> Iterator[None]:
    """Leaves a random amount of space on the output's file system, from nothing to enough for a part of the dataset."""
    ballast = output.parent / "ballast"
    free = shutil.disk_usage(output.parent).free
    ballast.write_bytes(b"\0" * max(free - random.randrange(3_000_000), 0))
    try:
        yield
    finally:
        ballast.unlink()


@contextlib.contextmanager
def place(kind: str) -> Iterator[Path]:
    """A folder for a dataset; on a file system of 16 MB for ``disk``."""
    folder = Path(tempfile.mkdtemp(prefix="kill-table-"))
    if kind == "disk":
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], check=True)
    try:
        yield folder / "dataset"
    finally:
        if kind == "disk":
            subprocess.run(["umount", folder], check=True)
        shutil.rmtree(folder)


def left_over(output: Path) -> list[str]:
    allowed = re.compile(r"_hlomap\.json|(?:files|rows)/part-\d+\.parquet")
    names = [path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()]
    return [name for name in names if not allowed.fullmatch(name)] + [p.name for p in output.parent.iterdir()][1:]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    kinds = arguments.kinds.split(",")

    with place("") as output:
        began = time.perf_counter()
        Run(arguments.corpus, output).end()
        duration = time.perf_counter() - began
        reference = Table(output)
    n_files, n_rows = reference.files.num_rows, reference.rows.num_rows
    print(f"undisturbed: {n_files} files, {n_rows} rows, {duration:.1f} s", flush=True)

    total = 0
    print(f"{'kind':<12}{'datasets':>9}{'kills':>7}{'equal':>7}  left behind", flush=True)
    for kind in kinds:
        wanted = (arguments.kills - total) // (len(kinds) - kinds.index(kind))
        n_datasets = n_hits = n_equal = 0
        left: list[str] = []
        while n_hits < wanted:
            with place(kind) as output:
                for _ in range(min(DISTURBANCES, wanted - n_hits)):
                    n_hits += disturb(kind, arguments.corpus, output, random.uniform(0.1, duration))
                code = Run(arguments.corpus, output).end()
                n_datasets += 1
                equal = code in (0, 1) and Table(output) == reference
                n_equal += equal
                left += left_over(output)
                if not equal:
                    print(f"{kind}: dataset {n_datasets} differs, exit code {code}", flush=True)
        total += n_hits
        print(f"{kind:<12}{n_datasets:>9}{n_hits:>7}{n_equal:>7}  {', '.join(left) or 'nothing'}", flush=True)
    print(f"{'sum':<12}{'':>9}{total:>7}")


if __name__ == "__main__":
    main()
