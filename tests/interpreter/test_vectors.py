"""The operations of :mod:`support.vectors`: values agree with XLA on CPU, and maps are sound."""

from __future__ import annotations

import numpy as np
import pytest
from support.vectors import KINDS

import hlomap as hm

pytestmark = pytest.mark.jax
N = 8


def close(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return bool((a == b).all())
    tolerance = 1e-3 if a.dtype.itemsize <= 2 else 2e-4
    return np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def flat(value: object) -> list[np.ndarray]:
    return [np.asarray(x) for x in value] if isinstance(value, list) else [np.asarray(value)]


def make_programs(kind: str) -> list[tuple[str, list[np.ndarray]]]:
    rng = np.random.default_rng(list(kind.encode()))
    return [KINDS[kind](rng) for _ in range(N)]


def test_values_agree_with_xla() -> None:
    from support import xla_run

    programs = [(kind, *program) for kind in KINDS for program in make_programs(kind)]
    expected = xla_run.results([(text, arguments) for _, text, arguments in programs])
    n_compared = 0
    for (kind, text, arguments), results in zip(programs, expected, strict=True):
        if results is None or isinstance(results, str):
            continue
        found = flat(hm.execute(hm.parse(text), *arguments))
        assert len(found) == len(results) and all(map(close, found, map(np.asarray, results))), f"{kind}\n{text}"
        n_compared += 1
    assert n_compared > 0.9 * len(programs)


@pytest.mark.parametrize("kind", KINDS)
def test_maps_are_sound(kind: str) -> None:
    for text, _ in make_programs(kind)[:4]:
        results = hm.verify(hm.parse(text).entry.root, max_changes=8)
        assert [str(result) for result in results if result.status in ("unsound", "unknown")] == [], text
