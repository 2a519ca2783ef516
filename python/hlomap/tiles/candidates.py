"""Candidates of tile sizes: all combinations of sizes of the parameters, or samples of these."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod

from ..base.lazy import np, npt
from ..maps.enumerate_pairs import unravel_points

_MOST = 1 << 26


def powers(n: int) -> list[int]:
    """The powers of two below a size, and the size."""
    return [1 << k for k in range((n - 1).bit_length())] + [n]


def _divisors(n: int) -> list[int]:
    if n > 1 << 50:
        raise ValueError(f"expected a size of at most 2**50 for its divisors, found {n}")
    small = [d for d in range(1, min(isqrt(n), 1 << 25) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})


def candidates(sizes: Sequence[int], kind: str, at_most: int | None, seed: int) -> npt.NDArray[np.int64]:
    """See :meth:`hlomap.Tiling.candidates`."""
    sizes = [max(1, n) for n in sizes]
    if kind == "dense":
        choices, counts = None, sizes
    elif kind in ("pow2", "divisors"):
        of = powers if kind == "pow2" else _divisors
        choices = [np.array(of(n), np.int64) for n in sizes]
        counts = list(map(len, choices))
    else:
        raise ValueError(f"expected 'pow2', 'divisors' or 'dense', found {kind!r}")
    total = prod(counts)
    if at_most is None or total <= at_most:
        if total > _MOST:
            raise ValueError(f"there are {total} candidates; pass `at_most` for a sample")
        numbers = unravel_points(np.arange(total, dtype=np.int64), counts)
    else:
        numbers = _sample(counts, total, max(0, at_most), seed)
    if choices is None:  # every size, not stored
        return numbers + 1
    for column, choice in zip(numbers.T, choices, strict=True):
        column[:] = choice[column]
    return numbers


def _sample(counts: Sequence[int], total: int, n: int, seed: int) -> npt.NDArray[np.int64]:
    """Numbers of distinct candidates, in order."""
    rng = np.random.default_rng(seed)
    if total <= _MOST:
        chosen = np.sort(rng.choice(total, n, replace=False)).astype(np.int64)
        return unravel_points(chosen, counts)
    # The sample is much smaller than the total, so repetitions are rare.
    rows = np.zeros((0, len(counts)), np.int64)
    while len(rows) < n:
        drawn = [rng.integers(0, count, n - len(rows), dtype=np.int64) for count in counts]
        rows = np.unique(np.concatenate([rows, np.stack(drawn, axis=1)]), axis=0)
    return rows
