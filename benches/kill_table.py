"""Ends runs of ``hlomap analyze`` at random moments and compares what the last run leaves with an undisturbed run.

    python benches/kill_table.py CORPUS [--kills 200] [--seed 0] [--kinds parent,worker,...] [--log kills.jsonl]

CORPUS is a folder with at least 2,000 files.  Each dataset suffers up to five disturbances of one kind; then the same
command runs to its end.  The dataset must equal the undisturbed one row for row, apart from times, with nothing else
in its folder or in the temporary folder, and no process left.  Needs psutil; the kinds ``scheduler`` and
``dask_worker`` need Dask, ``disk`` needs root on Linux for a small file system.  Prints a table: kind, datasets,
disturbances that hit a run, equal datasets.  ``--log`` gets a line for each dataset; the same command continues it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import psutil

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.datasets import tables

DISTURBANCES = 5  # of one dataset, at most
KINDS = ("both", "terminate", "dask_worker", "parent", "worker", "interrupt", "disk", "pulled", "removed", "scheduler")


class Run:
    """One process of ``hlomap analyze``, with a temporary folder of its own beside the output."""

    def __init__(self, corpus: Path, output: Path, engine: str = "local") -> None:
        command = [sys.executable, "-m", "hlomap", "analyze", str(corpus), "-o", str(output), "-j", "2", "-q"]
        temporary = output.parent / "tmp"
        temporary.mkdir(exist_ok=True)
        self._messages = tempfile.TemporaryFile("w+")
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--engine", engine],
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
            env={**os.environ, "TMPDIR": str(temporary)},
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
        """The exit code; a traceback is a failure, except for that of an interrupt during the first imports."""
        code = self.process.wait(600)
        self._messages.seek(0)
        messages = self._messages.read()
        self._messages.close()
        if "Traceback" in messages and "in <module>" not in messages:
            raise AssertionError(messages[-3000:])
        return code


class Dask:
    """A scheduler and two workers."""

    def __init__(self, temporary: Path) -> None:
        temporary.mkdir(exist_ok=True)
        self._environment = {**os.environ, "TMPDIR": str(temporary)}
        self.scheduler, self.address = self._start("scheduler", "--port", "0")
        self.workers = [self._worker() for _ in range(2)]

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", self.address, "--nthreads", "1", "--no-nanny")[0]

    def _start(self, kind: str, *options: str) -> tuple[subprocess.Popen[bytes], str]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options, "--host", "127.0.0.1"]
        with tempfile.TemporaryFile() as log:
            process = subprocess.Popen(
                [*command, "--no-dashboard"], stdout=subprocess.DEVNULL, stderr=log, env=self._environment
            )
            while process.poll() is None:
                text = os.pread(log.fileno(), 1 << 16, 0).decode()
                if found := re.search(r"(?:Scheduler|Start worker) at: +(tcp://\S+)\n", text):
                    return process, found[1]
                time.sleep(0.05)
        raise AssertionError("Dask does not start")

    def kill_worker(self) -> list[psutil.Process]:
        """Kills a worker and starts another; gives the children of the killed one."""
        worker = self.workers.pop(random.randrange(2))
        orphans = psutil.Process(worker.pid).children(recursive=True)
        worker.kill()
        worker.wait()
        self.workers.append(self._worker())
        return orphans

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


class Kills:
    """What one dataset suffers: ``hits`` counts the disturbances of runs that were at work.

    Moments are drawn from the time that a run takes, which the load of the machine changes: a run that ended before its
    moment tells it.
    """

    seconds: ClassVar[dict[str, float]] = {}

    def __init__(self, corpus: Path, output: Path, kind: str) -> None:
        self.corpus = corpus
        self.output = output
        self.kind = kind
        self.hits = 0
        self._took = 0.0

    def disturb(self, wanted: int) -> None:
        """Starts runs and disturbs each at a random moment, until the dataset is complete."""
        run = self._run_dask if self.kind in ("scheduler", "dask_worker") else self._run
        for _ in range(2 * DISTURBANCES):
            if self.hits >= min(wanted, DISTURBANCES) or run(wanted, self.seconds[self.kind]) in (0, 1):
                break
            self.seconds[self.kind] *= 1.05
        if self.hits == 0:
            self.seconds[self.kind] = min(self.seconds[self.kind], self._took)

    def _run(self, wanted: int, duration: float) -> int:
        moment = random.uniform(0.1, duration)
        with full_disk(self.output) if self.kind == "disk" else contextlib.nullcontext():
            run = Run(self.corpus, self.output)
            if self.kind in ("pulled", "removed"):
                while not self.output.exists() and run.sleep(0.01):
                    pass
                moment *= 0.7  # the rest is over by then
            alive = run.sleep(moment)
            children = run.children()
            while alive:
                self.hits += DISTURB[self.kind](run, self.output)
                # A run survives the loss of a worker: it loses more.
                alive = self.kind == "worker" and self.hits < wanted and run.sleep(random.uniform(0.1, duration))
                children += run.children()
            code = run.end()
            self._took = time.perf_counter() - run.began
            self.hits += self.kind == "disk" and code == 3
        expect_end(children)
        return code

    def _run_dask(self, wanted: int, duration: float) -> int:
        moment = random.uniform(0.5, duration)
        cluster = Dask(self.output.parent / "tmp")
        processes: list[psutil.Process] = []
        try:
            run = Run(self.corpus, self.output, f"dask:{cluster.address}")
            while run.sleep(moment) and self.hits < wanted:
                self.hits += 1
                if self.kind == "scheduler":
                    cluster.scheduler.kill()
                    break
                processes += cluster.kill_worker()
                moment *= random.uniform(0.1, 0.9)
            code = run.end()
            self._took = time.perf_counter() - run.began
            processes += [child for w in cluster.workers for child in psutil.Process(w.pid).children(recursive=True)]
        finally:
            cluster.close()
        expect_end(processes)
        return code


def expect_end(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive, f"{alive} outlive the run"


def kill_worker(run: Run, output: Path) -> bool:
    children = run.children()
    with contextlib.suppress(psutil.NoSuchProcess, IndexError):
        random.choice(children).kill()
    return bool(children)


def kill_both(run: Run, output: Path) -> bool:
    hit = kill_worker(run, output)
    run.process.kill()
    return hit


def send(number: signal.Signals) -> Callable[[Run, Path], bool]:
    def send_to_parent(run: Run, output: Path) -> bool:
        run.process.send_signal(number)
        return True

    return send_to_parent


def pull(run: Run, output: Path) -> bool:
    """The folder is away while the run ends, and comes back."""
    if not output.exists():
        return False
    output.rename(output.with_name("pulled"))
    code = run.process.wait(600)
    is_away = not output.exists()
    if not is_away:  # it had not begun yet, and made another dataset
        assert code in (0, 1), "the run has made the folder again"
        shutil.rmtree(output)
    output.with_name("pulled").rename(output)
    return is_away


def remove(run: Run, output: Path) -> bool:
    if not output.exists():
        return False
    while output.exists():  # a run that writes a part meanwhile
        shutil.rmtree(output, ignore_errors=True)
    return True


DISTURB: dict[str, Callable[[Run, Path], bool]] = {
    "parent": send(signal.SIGKILL),
    "worker": kill_worker,
    "both": kill_both,
    "interrupt": send(signal.SIGINT),
    "terminate": send(signal.SIGTERM),
    "disk": lambda run, output: False,
    "pulled": pull,
    "removed": remove,
}


@contextlib.contextmanager
def full_disk(output: Path) -> Iterator[None]:
    """Leaves a random amount of space on the output's file system, from nothing to enough for a part of the dataset."""
    ballast = output.parent / "ballast"
    free = shutil.disk_usage(output.parent).free
    ballast.write_bytes(b"\0" * max(free - random.randrange(1_500_000), 0))
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
    """What is in the dataset, beside it or in the temporary folder without being a part of it."""
    allowed = re.compile(r"dataset/(?:_hlomap\.json|(?:files|rows)/part-\d+\.parquet)|tmp/dask-scratch-space/.*")
    found = [path.relative_to(output.parent).as_posix() for path in output.parent.rglob("*") if not path.is_dir()]
    return [name for name in found if not allowed.fullmatch(name)]


def try_dataset(kind: str, corpus: Path, reference: dict[str, Any], wanted: int) -> dict[str, Any]:
    """Disturbs one dataset, then lets it end: what the table counts, and ``failure`` where anything is wrong."""
    with place(kind) as output:
        kills = Kills(corpus, output, kind)
        failure = None
        left: list[str] = []
        try:
            kills.disturb(wanted)
            code = Run(corpus, output).end()
            if code not in (0, 1):
                failure = f"the last run ends with exit code {code}"
            elif tables(output) != reference:
                failure = "differs"
            left = left_over(output)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        if failure is not None and output.exists():
            shutil.copytree(output, tempfile.mkdtemp(prefix="kill-table-failed-"), dirs_exist_ok=True)
    return {"kind": kind, "kills": kills.hits, "equal": failure is None, "failure": failure, "left": left}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--log", type=Path, default=None)
    arguments = parser.parse_args()
    kinds = arguments.kinds.split(",")

    with place("") as output:
        began = time.perf_counter()
        Run(arguments.corpus, output).end()
        duration = time.perf_counter() - began
        reference = tables(output)
    n_files, n_rows = map(len, reference.values())
    print(f"undisturbed: {n_files} files, {n_rows} rows, {duration:.1f} s", flush=True)

    found: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    if arguments.log is not None and arguments.log.exists():
        for line in arguments.log.read_text().splitlines():
            cells = json.loads(line)
            found[cells["kind"]].append(cells)
    random.seed(arguments.seed + sum(map(len, found.values())))
    print(f"{'kind':<12}{'datasets':>9}{'kills':>7}{'equal':>7}  left behind", flush=True)
    for number, kind in enumerate(kinds):
        wanted = arguments.kills * (number + 1) // len(kinds) - arguments.kills * number // len(kinds)
        Kills.seconds[kind] = duration + 2.0 if kind in ("scheduler", "dask_worker") else duration  # the client's start
        while (missing := wanted - sum(cells["kills"] for cells in found[kind])) > 0:
            cells = try_dataset(kind, arguments.corpus, reference, missing)
            found[kind].append(cells)
            if arguments.log is not None:
                with arguments.log.open("a") as log:
                    log.write(json.dumps(cells) + "\n")
            if not cells["equal"]:
                print(f"{kind}: dataset {len(found[kind])}: {cells['failure']}", flush=True)
        n_kills, n_equal = (sum(cells[key] for cells in found[kind]) for key in ("kills", "equal"))
        left = ", ".join(name for cells in found[kind] for name in cells["left"])
        print(f"{kind:<12}{len(found[kind]):>9}{n_kills:>7}{n_equal:>7}  {left or 'nothing'}", flush=True)
    print(f"{'sum':<12}{'':>9}{sum(cells['kills'] for kind in kinds for cells in found[kind]):>7}")


if __name__ == "__main__":
    main()
