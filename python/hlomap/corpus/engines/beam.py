"""The engine on Apache Beam (extra ``beam``): a pipeline for all tasks that are submitted at once.

A pipeline gives no results back while it runs, so the counts of a task are read from its part of the dataset.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from ..folder import open_folder
from ..tasks import Task
from . import Engine

__all__ = ["open_beam"]

_GATHER_SECONDS = 0.2  # tasks that are submitted within this time share a pipeline


@contextmanager
def open_beam(options: str) -> Iterator[Engine]:
    """A Beam runner; ``options`` are pipeline options, ``--runner=FlinkRunner --flink_master=...`` for one."""
    from ..beam import run_pipeline

    executor = _PipelineExecutor(run_pipeline, options)
    try:
        yield Engine(executor, None)
    finally:
        executor.shutdown(wait=False)


class _PipelineExecutor(Executor):
    def __init__(self, run: Callable[..., None], options: str) -> None:
        self._run = run
        self._options = options
        self._lock = threading.Lock()
        self._pending: list[tuple[Task, Future[Any]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._pending.append((args[0], future))
            if len(self._pending) == 1:
                threading.Thread(target=self._run_pending, args=(fn,), daemon=True).start()
        return future

    def _run_pending(self, fn: Callable[[Task], Any]) -> None:
        from ..dataset import read_report

        time.sleep(_GATHER_SECONDS)
        with self._lock:
            batch, self._pending = self._pending, []
        try:
            self._run(fn, [task for task, _ in batch], self._options)
            for task, future in batch:
                future.set_result(read_report(open_folder(task.output), task.shard))
        except BaseException as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
