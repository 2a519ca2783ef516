"""Threads that share modules, maps and the caches of rules get the answers that one thread gets."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import hlomap as hm
from hlomap.analysis import rule_cache

MODULES = sorted((Path(__file__).parent / "cases" / "modules").glob("*.hlo"))
N_THREADS = 4


def answers(modules: list[hm.Module]) -> list[str]:
    """The answers of the package about the modules, as text."""
    lines = []
    for module in modules:
        lines += [str(row) for row in hm.analyze(module).rows()]
        root = module.entry.root
        lines += [f"{p.name} {maps}" for p, maps in hm.backward_slice(root).items()]
        lines += [str(result) for result in hm.verify(module, max_changes=2)]
        lines.append(str(hm.tile(root)))
    return lines


def in_threads(work: Callable[[], list[str]]) -> list[list[str]]:
    """The results of threads that begin at the same time."""
    barrier = Barrier(N_THREADS)

    def begin_together(_: int) -> list[str]:
        barrier.wait(timeout=60)
        return work()

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(begin_together, range(N_THREADS)))


def test_shared_values_and_caches() -> None:
    expected = answers([hm.load(path) for path in MODULES])
    shared = [hm.load(path) for path in MODULES]
    rule_cache.clear()  # so that every thread finds empty caches
    assert in_threads(lambda: answers(shared)) == [expected] * N_THREADS


def test_own_modules() -> None:
    """Each thread parses for itself; only the caches are shared."""
    expected = answers([hm.load(path) for path in MODULES])
    rule_cache.clear()
    assert in_threads(lambda: answers([hm.load(path) for path in MODULES])) == [expected] * N_THREADS


def test_import_leaves_the_gil_off() -> None:
    """Of a free-threaded interpreter; on others there is nothing to leave."""
    is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    is_enabled = getattr(sys, "_is_gil_enabled", lambda: True)
    assert is_enabled() != is_free_threaded
