"""Every engine makes the same dataset, on a cluster on this machine's loopback."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dask
import psutil
import pytest
from support.datasets import Tables, left_over, tables

from hlomap.corpus.engines import open_engine
from hlomap.corpus.run import CorpusProgress, analyze_corpus
from hlomap.errors import EngineError, UnsupportedError


class Cluster:
    """A Dask scheduler and workers, each a process of its own."""

    def __init__(self, n_workers: int) -> None:
        self.scheduler, self.address = _start_dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        options = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"]
        self.workers = [_start_dask("worker", self.address, *options)[0] for _ in range(n_workers)]

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.communicate()


def _start_dask(kind: str, *options: str) -> tuple[subprocess.Popen[str], str]:
    """The process, and the address that it listens at."""
    command = [sys.executable, "-m", "distributed.cli.dask_" + kind, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(r"(?:Scheduler|Start worker) at: +(tcp://\S+)", line):
            return process, found[1]
    raise AssertionError(f"{command} ended with {process.wait()}")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(2)
    yield cluster
    cluster.close()


def test_dask(many: Path, tmp_path: Path, undisturbed: Tables, cluster: Cluster) -> None:
    """One of two workers is killed halfway, with a shard in its hands; the other does the rest."""
    output = tmp_path / "dataset"
    victim = psutil.Process(cluster.workers[0].pid)
    killed = []

    def kill(progress: CorpusProgress) -> None:
        if not killed and progress.report.files > 100:
            killed.extend(victim.children())
            victim.kill()

    analyze_corpus([many], output, engine=f"dask:{cluster.address}", progress=kill)
    assert tables(output) == undisturbed and not left_over(output)
    assert killed
    psutil.wait_procs(killed, timeout=30)
    assert not any(child.is_running() for child in killed)  # the process that analyzes ends with its worker


def test_a_lost_dask_scheduler(many: Path, tmp_path: Path, undisturbed: Tables, cluster: Cluster) -> None:
    output = tmp_path / "dataset"

    def kill(progress: CorpusProgress) -> None:
        if progress.report.files > 100:
            cluster.scheduler.kill()

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        with pytest.raises(EngineError, match="scheduler"):
            analyze_corpus([many], output, engine=f"dask:{cluster.address}", progress=kill)
        with pytest.raises(EngineError, match=f"cannot reach the Dask scheduler at {cluster.address}"):
            analyze_corpus([many], output, engine=f"dask:{cluster.address}")
    analyze_corpus([many], output, jobs=1)
    assert tables(output) == undisturbed and not left_over(output)


def test_unknown_engines() -> None:
    for name in ("spark", "local:8", "ray:", ""):
        with pytest.raises(UnsupportedError, match="expected local or dask:ADDRESS"), open_engine(name, 1):
            pass


def test_an_extra_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(UnsupportedError, match=r"engine dask needs distributed: pip install 'hlomap\[dask\]'"),
        open_engine("dask:", 1),
    ):
        pass
