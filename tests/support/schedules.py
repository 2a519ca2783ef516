"""Thread maps by enumeration: all points of a map with the elements that they reach."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

import hlomap as hm
from support.map_pairs import points

Points = npt.NDArray[np.int64]
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
