"""The engine of one machine: a thread for each worker, which supervises a child process.

No pool of processes is needed: a thread only waits for its child, and :mod:`hlomap.corpus.supervisor` replaces children
that die.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from ..supervisor import Children
from . import Engine

__all__ = ["IN_PROCESS", "open_local"]


@contextmanager
def open_local(jobs: int) -> Iterator[Engine]:
    """``jobs`` workers, started by the first tasks; they end with the block."""
    children = Children()
    executor = ThreadPoolExecutor(jobs, "hlomap-worker")
    try:
        yield Engine(executor, lambda: jobs, children.run_task, children.at_work)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        children.close()
        executor.shutdown()


class _Here(Executor):
    """Runs a task when it is submitted, without a child: a file can hurt the run."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        from ..work import analyze_shard

        future: Future[Any] = Future()
        try:
            future.set_result(analyze_shard(args[0], {}, lambda position, stage, n_bytes: None))
        except Exception as error:
            future.set_exception(error)
        return future


IN_PROCESS = Engine(_Here(), lambda: 1)
"""Runs tasks in this very process, one after the other."""
