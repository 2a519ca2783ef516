"""The engine on a Ray cluster (extra ``ray``)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from ...errors import UnsupportedError
from . import Engine, EngineError

__all__ = ["open_ray"]


@contextmanager
def open_ray(address: str) -> Iterator[Engine]:
    """The cluster at an address such as ``10.0.0.1:6379`` or ``auto``; ``ray:`` alone starts one on this machine."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise UnsupportedError("engine ray needs Ray: pip install ray") from error
    try:
        ray.init(address=address or "local", log_to_driver=False, include_dashboard=False if not address else None)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise EngineError(f"cannot reach the Ray cluster at {address}: {error}") from error
    try:
        yield Engine(_RayExecutor(ray), lambda: max(int(ray.cluster_resources().get("CPU", 1)), 1))
    finally:
        ray.shutdown()


class _RayExecutor(Executor):
    """Ray tasks; one whose worker was lost runs again."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        task = self._ray.remote(fn).options(num_cpus=1, max_retries=10)
        future: Future[Any] = task.remote(*args, **kwargs).future()
        return future
