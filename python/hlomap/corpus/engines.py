"""Engines, which run tasks and report when each ends.

Start with :func:`open_engine`.  An engine is a thread for each child process here, or a Dask cluster (extra ``dask``).
Both run :func:`hlomap.corpus.supervisor.run_task`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ..base.types import needs
from ..errors import EngineError, UnsupportedError
from .reports import CorpusReport
from .supervisor import Children, run_task
from .tasks import Task


@dataclass(frozen=True)
class Engine:
    """``submit`` begins a task.  ``n_slots`` is how many can run at a time now; twice as many are submitted.

    ``at_work`` counts the finished files and bytes of running tasks, as far as the engine knows.
    """

    submit: Callable[[Task], Future[CorpusReport]]
    n_slots: Callable[[], int]
    at_work: Callable[[], tuple[int, int]] = lambda: (0, 0)


@contextmanager
def open_engine(name: str, jobs: int, *, in_process: bool = False) -> Iterator[Engine]:
    """The engine ``local`` or ``dask:ADDRESS``; ``jobs`` is the number of local workers.

    ``in_process`` runs tasks in this process, for file systems that exist only here.  Raises
    :class:`~hlomap.errors.UnsupportedError` for another name, or if the extra is not installed.
    """
    kind, _, address = name.partition(":")
    if kind not in ("local", "dask") or (kind == "local" and address):
        raise UnsupportedError(f"engine {name}: expected local or dask:ADDRESS")
    if kind == "local":
        with _open_local(jobs) as engine:
            yield IN_PROCESS if in_process else engine
    elif in_process:
        raise UnsupportedError(f"engine {name}: memory:// exists only in this process")
    else:
        with _open_dask(address) as engine:
            yield engine


@contextmanager
def _open_local(jobs: int) -> Iterator[Engine]:
    """``jobs`` workers, started by the first tasks; they end with the block.

    A thread only waits for its child, and :mod:`hlomap.corpus.supervisor` replaces children that die.
    """
    children = Children()
    executor = ThreadPoolExecutor(jobs, "hlomap-worker")
    try:
        yield Engine(lambda task: executor.submit(children.run_task, task), lambda: jobs, children.at_work)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
        children.close()
        executor.shutdown()


def _run_here(task: Task) -> Future[CorpusReport]:
    """Runs a task without a child process: a file that crashes ends the run."""
    from .work import analyze_shard

    future: Future[CorpusReport] = Future()
    try:
        future.set_result(analyze_shard(task, {}, lambda position, stage, n_bytes: None))
    except Exception as error:
        future.set_exception(error)
    return future


IN_PROCESS = Engine(_run_here, lambda: 1)
"""Runs tasks in this process, one after the other."""


@contextmanager
def _open_dask(address: str) -> Iterator[Engine]:
    """The workers of the scheduler at an address such as ``tcp://10.0.0.1:8786``, or in a scheduler file.

    ``dask:`` alone starts a cluster on this machine.  Dask gives a task of a lost worker to another one; a worker only
    waits for its child process, so its heartbeats are never late.
    """
    with needs("dask", "engine dask"):
        import distributed
    try:
        if os.path.isfile(address):
            client: Any = distributed.Client(scheduler_file=address, name="hlomap")
        else:
            client = distributed.Client(address or None, name="hlomap")
    except (OSError, ValueError) as error:
        raise EngineError(f"cannot reach the Dask scheduler at {address}: {error}") from error

    scheduler = client.scheduler_info()["id"]

    def n_slots() -> int:
        try:
            if client.scheduler_info()["id"] != scheduler:  # a new scheduler, without our tasks
                raise EngineError(f"the Dask scheduler at {address} was restarted")
            return max(int(sum(client.nthreads().values())), 1)
        except OSError as error:
            raise EngineError(f"the Dask scheduler at {address} is gone: {error}") from error

    executor = client.get_executor(pure=False)
    try:
        with _without_dask_logs():
            yield Engine(lambda task: executor.submit(run_task, task), n_slots)
            executor.shutdown(wait=False)
    finally:
        with _without_dask_logs(), suppress(OSError, RuntimeError):  # the scheduler may be gone
            client.close(timeout=5)


@contextmanager
def _without_dask_logs() -> Iterator[None]:
    """Keeps Dask from logging tracebacks for a lost scheduler: :class:`EngineError` reports the loss."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "tornado.application")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
