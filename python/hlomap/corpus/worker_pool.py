"""A process pool that survives the death of a worker.

:class:`Pool` runs one function on many arguments.  Unlike the pools of the standard library it tracks the argument of
each worker: when a worker dies, only that argument fails and the worker is replaced.  Only the parent process gets an
interrupt; leaving the context ends the workers.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Generic, TypeVar

__all__ = ["Pool"]

A = TypeVar("A")
R = TypeVar("R")


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    pipe: Connection
    number: int | None = None  # of its current argument


class Pool(Generic[A, R]):
    """Runs ``function`` on one argument at a time in each of ``n_workers`` processes; in this process for 0.

    ``function`` and the arguments must pickle.  Call ``submit`` while ``has_room``, and ``wait`` for results.
    """

    def __init__(self, function: Callable[[A], R], n_workers: int) -> None:
        self._function = function
        self._n_workers = n_workers
        self._workers: list[_Worker] = []
        self._local: list[tuple[int, A]] = []
        # A fresh interpreter for each worker: forking a process that may have threads is not safe.
        self._context = multiprocessing.get_context("spawn")

    def __enter__(self) -> Pool[A, R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            if kind is None:
                with contextlib.suppress(OSError):
                    worker.pipe.send(None)
            else:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()

    @property
    def has_room(self) -> bool:
        """Whether a worker is free, so that ``submit`` may be called."""
        if self._n_workers == 0:
            return not self._local
        return len(self._workers) < self._n_workers or any(worker.number is None for worker in self._workers)

    def submit(self, number: int, argument: A) -> None:
        """Starts the work on an argument; ``number`` identifies its result."""
        if self._n_workers == 0:
            self._local.append((number, argument))
            return
        worker = next((worker for worker in self._workers if worker.number is None), None) or self._start()
        worker.number = number
        with contextlib.suppress(OSError):  # the worker has died; wait() reports it
            worker.pipe.send(argument)

    def wait(self) -> Iterator[tuple[int, R | None, str | None]]:
        """Waits for at least one result: yields its number, and the result or a description of the worker's death."""
        if self._n_workers == 0:
            for number, argument in self._local:
                yield number, self._function(argument), None
            self._local.clear()
            return
        busy: dict[object, tuple[_Worker, int]] = {
            worker.pipe: (worker, worker.number) for worker in self._workers if worker.number is not None
        }
        for pipe in wait([worker.pipe for worker, _ in busy.values()]):
            worker, number = busy[pipe]
            worker.number = None
            try:
                result: R = worker.pipe.recv()
            except (EOFError, OSError):
                yield number, None, self._remove(worker)
            else:
                yield number, result, None

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_worker_main, args=(self._function, theirs), daemon=True)
        with _block_interrupts():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _remove(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        code = worker.process.exitcode or 0
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"the worker process was killed by {signal.Signals(-code).name}"
        return f"the worker process ended with exit code {code}"


@contextlib.contextmanager
def _block_interrupts() -> Iterator[None]:
    """Blocks SIGINT; processes started inside inherit the mask and ignore the Ctrl-C that the terminal sends to all."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting a process would start the resource tracker, which unblocks interrupts; so it is started before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _worker_main(function: Callable[[A], R], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        while (argument := pipe.recv()) is not None:
            pipe.send(function(argument))
