"""Engines: they map a function over tasks and tell when each ends.

Read :func:`open_engine` first.  An engine is a :class:`concurrent.futures.Executor`; all of them run
:func:`hlomap.corpus.supervisor.run_task`, in a thread here or in a worker elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from ...errors import UnsupportedError
from ..reports import Report
from ..supervisor import run_task
from ..tasks import Task

__all__ = ["ENGINES", "Engine", "EngineError", "open_engine"]

ENGINES = ("local", "dask", "ray", "beam")


class EngineError(RuntimeError):
    """The engine was lost: a scheduler that is gone, a worker that dies again and again."""


@dataclass(frozen=True)
class Engine:
    """``n_slots`` tells how many tasks run at a time now; twice as many are submitted.  None: submit all at once.

    ``run`` is the function to submit.  ``at_work`` tells the files and bytes that are done of running tasks, as far as
    the engine knows.
    """

    executor: Executor
    n_slots: Callable[[], int] | None
    run: Callable[[Task], Report] = run_task
    at_work: Callable[[], tuple[int, int]] = lambda: (0, 0)


def open_engine(name: str, jobs: int, *, in_process: bool = False) -> AbstractContextManager[Engine]:
    """The engine ``local``, ``dask:ADDRESS``, ``ray:ADDRESS`` or ``beam``; ``jobs`` is the number of local workers.

    ``in_process`` runs tasks in this very process, for file systems that live in it.  Raises
    :class:`~hlomap.errors.UnsupportedError` for another name, or where the extra is not installed.
    """
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        from .local import IN_PROCESS, open_local

        return nullcontext(IN_PROCESS) if in_process else open_local(jobs)
    if in_process:
        raise UnsupportedError(f"engine {name}: memory:// exists in this process alone")
    if kind == "dask":
        from .dask import open_dask

        return open_dask(address)
    if kind == "ray":
        from .ray import open_ray

        return open_ray(address)
    if kind == "beam":
        from .beam import open_beam

        return open_beam(address)
    raise UnsupportedError(f"engine {name}: expected local, dask:ADDRESS, ray:ADDRESS or beam")
