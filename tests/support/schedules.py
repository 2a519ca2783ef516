"""Thread maps by enumeration: all points of a map with the elements that they reach."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import numpy as np
import numpy.typing as npt

import hlomap as hm

Points = npt.NDArray[np.int64]
MAX_POINTS = 1 << 22
ADD = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }"


def blocks_of(file: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    """The blocks of a file: a name, and keys with values."""
    found = []
    for block in file.read_text(encoding="utf-8").strip().split("\n\n"):
        name, *lines = [line for line in block.splitlines() if not line.startswith("#")] or [""]
        if name:
            found.append(
                (name, [(key, value.removeprefix(" ")) for key, value in (line.split(":", 1) for line in lines)])
            )
    return found


def points(m: hm.IndexingMap, runtime: Sequence[int] = ()) -> tuple[Points, Points]:
    """The dims and the elements of all points in the domain, in rows."""
    bounds = [(v.lower, v.upper + 1) for v in (*m.dims, *m.ranges)]
    assert prod(b - a for a, b in bounds) <= MAX_POINTS, str(m)
    axes = np.meshgrid(*(np.arange(a, b) for a, b in bounds), indexing="ij")
    grid = np.stack([axis.reshape(-1) for axis in axes], axis=1)
    dims, ranges = grid[:, : len(m.dims)], grid[:, len(m.dims) :]
    values = np.tile(np.array(runtime, dtype=np.int64), (len(grid), 1))
    inside = m.in_domain(dims, ranges, values)
    dims, ranges, values = dims[inside], ranges[inside], values[inside]
    return dims, m.evaluate(dims, ranges, values)


def visits(maps: Sequence[hm.IndexingMap], sizes: Sequence[int], runtime: Sequence[int] = ()) -> Points:
    """How often all points of the maps together reach each element of an array."""
    counts = np.zeros(sizes, np.int64)
    for m in maps:
        np.add.at(counts, tuple(points(m, runtime)[1].T), 1)
    return counts


def pairs(m: hm.IndexingMap) -> set[bytes]:
    """The pairs of a thread and an element."""
    rows = np.ascontiguousarray(np.concatenate(points(m), axis=1))
    return set(rows.view(f"V{rows.itemsize * rows.shape[1]}").reshape(-1).tolist())


def written_before_read(write: hm.IndexingMap, read: hm.IndexingMap) -> bool:
    """Whether every block writes all places in shared memory that it reads."""
    places = [np.concatenate([dims[:, 3:], at], axis=1) for dims, at in (points(write), points(read))]
    return set(map(tuple, places[1].tolist())) <= set(map(tuple, places[0].tolist()))
