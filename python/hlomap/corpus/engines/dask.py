"""The engine on a Dask cluster (extra ``dask``).

Dask gives a task of a lost worker to another one.  A worker only waits for its child process, so its heartbeats are
never late.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import UnsupportedError
from . import Engine, EngineError

__all__ = ["open_dask"]


@contextmanager
def open_dask(address: str) -> Iterator[Engine]:
    """The workers of the scheduler at an address such as ``tcp://10.0.0.1:8786``, or in a scheduler file.

    ``dask:`` alone starts a cluster on this machine.
    """
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise UnsupportedError("engine dask needs Dask: pip install distributed") from error
    try:
        if os.path.isfile(address):
            client: Any = distributed.Client(scheduler_file=address, name="hlomap")
        else:
            client = distributed.Client(address or None, name="hlomap", timeout=10)
    except (OSError, ValueError) as error:
        raise EngineError(f"cannot reach the Dask scheduler at {address}: {error}") from error

    scheduler = client.scheduler_info()["id"]

    def n_slots() -> int:
        try:
            if client.scheduler_info()["id"] != scheduler:  # it knows nothing of our tasks
                raise EngineError(f"the Dask scheduler at {address} was restarted")
            return max(int(sum(client.nthreads().values())), 1)
        except OSError as error:
            raise EngineError(f"the Dask scheduler at {address} is gone: {error}") from error

    executor = client.get_executor(pure=False)
    try:
        with _quiet():
            yield Engine(executor, n_slots)
            executor.shutdown(wait=False)
    finally:
        with _quiet():
            client.close(timeout=5)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps Dask from logging the loss of a scheduler with its own tracebacks: :class:`EngineError` tells it."""
    loggers = [logging.getLogger(name) for name in ("distributed.client", "tornado.application")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
