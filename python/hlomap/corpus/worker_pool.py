"""Worker processes that may fail.

:class:`Pool` runs one function on many arguments.  Unlike the pools of the standard library it knows which argument
each worker holds, so that a worker that dies costs that one answer: it is told as a death and replaced.
An interrupt reaches the owner alone; leaving the context ends the workers.
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
    number: int | None = None  # of the argument it works on


class Pool(Generic[A, R]):
    """``n_workers`` processes that each run ``function`` on one argument at a time; with 0 the caller's process does.

    ``function`` and the arguments must pickle.  ``submit`` while ``has_room``, and ``wait`` for answers.
    """

    def __init__(self, function: Callable[[A], R], n_workers: int) -> None:
        self._function = function
        self._n_workers = n_workers
        self._workers: list[_Worker] = []
        self._own: list[tuple[int, A]] = []
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
        """Whether ``submit`` may be called."""
        if self._n_workers == 0:
            return not self._own
        return len(self._workers) < self._n_workers or any(worker.number is None for worker in self._workers)

    def submit(self, number: int, argument: A) -> None:
        """Starts the work on an argument; ``number`` names it in the answer."""
        if self._n_workers == 0:
            self._own.append((number, argument))
            return
        worker = next((worker for worker in self._workers if worker.number is None), None) or self._start()
        worker.number = number
        with contextlib.suppress(OSError):  # it has died already; wait() tells
            worker.pipe.send(argument)

    def wait(self) -> Iterator[tuple[int, R | None, str | None]]:
        """Waits for at least one answer: its number, and the result or how the worker died."""
        if self._n_workers == 0:
            for number, argument in self._own:
                yield number, self._function(argument), None
            self._own.clear()
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
                yield number, None, self._bury(worker)
            else:
                yield number, result, None

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(self._function, theirs), daemon=True)
        with _interrupts_held_back():
            process.start()
        theirs.close()
        worker = _Worker(process, ours)
        self._workers.append(worker)
        return worker

    def _bury(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        code = worker.process.exitcode or 0
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"the worker process was ended by {signal.Signals(-code).name}"
        return f"the worker process ended with exit code {code}"


@contextlib.contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """A process started inside inherits the mask: Ctrl-C, which every process of the terminal gets, spares it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starting a process starts the resource tracker first, and that lets interrupts through again: so it runs before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(function: Callable[[A], R], pipe: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, OSError):
        while (argument := pipe.recv()) is not None:
            pipe.send(function(argument))
