"""The figures of a table of tiles beside the enumeration of every tile of every candidate.

:func:`faults` is the judge: a figure that is called exact is the enumerated one, any other is a bound of it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import ceil, isclose, prod

import numpy as np

import hlomap as hm

from . import tile_oracle as oracle
from .layout_reference import positions
from .tile_matrix import _varies

SECTOR_BITS = 32 * 8
LINE = re.compile(r"  read (\d+): \S+ \[(.*?)\], ([\d,]+) bytes? in its largest tile \[(.*?)\],")


class Truth:
    """What the tiles of one candidate read of one array, for some values of the runtime variables."""

    def __init__(self, read: hm.results.TileRead, points: oracle.Enumerated, candidate: list[int]) -> None:
        shape = read._tiling._shape(read)
        at, dims = positions(shape)[0], shape.dimensions
        self.bits = shape.element_bits
        self.tiles = points.tiles(candidate)
        self.is_box = True
        self.elements = self.boxes = self.largest = self.longest = self.n_sectors = 0
        self.largest_tiles: set[tuple[int, ...]] = set()
        self.sectors_of_largest: set[int] = set()
        self.distinct = len(np.unique(points.elements, axis=0))
        seen = set()
        for tile, elements in self.tiles.items():
            self.is_box &= oracle.progressions(elements) is not None
            key = tuple(
                x for x, p, d in zip(tile, read.params, points.depends, strict=True) if p.kind == "parallel" or d
            )
            box = oracle.tight_box(elements)
            if box > self.largest:
                self.largest, self.largest_tiles, self.sectors_of_largest = box, set(), set()
            if box == self.largest:
                self.largest_tiles.add(tile)
            if key in seen:
                continue  # a step that makes no difference to the read
            seen.add(key)
            self.elements += len(elements)
            self.boxes += box
            numbers = np.ravel_multi_index(tuple(elements.T), dims) if dims else np.zeros(1, np.int64)
            runs = runs_of(np.sort(at[numbers]))
            self.longest = max([self.longest, *(n for _, n in runs)])
            sectors = sum(sectors_of(first, n, self.bits) for first, n in runs)
            self.n_sectors += sectors
            if box == self.largest:
                self.sectors_of_largest.add(sectors)

    def bytes(self, n: int) -> int:
        """The bytes of so many elements."""
        return ceil(n * self.bits / 8)


def runs_of(at: oracle.Ints) -> list[tuple[int, int]]:
    """The first position and the length of each contiguous run of sorted positions."""
    ends = [0, *(np.flatnonzero(np.diff(at) != 1) + 1).tolist(), len(at)]
    return [(int(at[a]), b - a) for a, b in pairwise(ends) if a < b]


def sectors_of(first: int, n: int, bits: int) -> int:
    """The sectors of a run in a buffer that begins with one."""
    return ((first + n) * bits - 1) // SECTOR_BITS - first * bits // SECTOR_BITS + 1


def faults(module: hm.Module, rng: oracle.Rng, at_most: int) -> list[str]:
    """What the table says of candidates and the enumeration of their tiles contradicts."""
    t = hm.tile(module.entry)
    sizes = [max(1, p.size) for p in t.params]
    candidates = t.candidates("dense", at_most, seed=int(rng.integers(1 << 30)))
    table = t.evaluate(candidates)
    every = [_enumerated(read, sizes, rng) for read in t.reads]
    found: list[str] = []
    for i, candidate in enumerate(candidates.tolist()):
        truths = [[Truth(r, points, candidate) for points in own] for r, own in zip(t.reads, every, strict=True)]
        for k, (read, own) in enumerate(zip(t.reads, truths, strict=True)):
            row = {name: table[name][i, k] if table[name].ndim == 2 else table[name][i] for name in table.columns}
            wrong = [each for truth in own for each in contradictions(row, truth)]
            for points, truth in zip(every[k], own, strict=True):
                wrong += wrong_boxes(t, read, points, truth, candidate, legal=bool(row["legal"]))
            if not all(len(elements) == 1 for truth in own for elements in truth.tiles.values()):
                pass
            elif f"read {k} " in (table.reason(i) or "") and not _varies(read, candidate):
                wrong.append(f"{table.reason(i)}, but every tile reads one element")
            found += [f"read {k} ({read.map}) of {candidate}: {each}" for each in wrong]
        written = sum(ceil(t._shape(w).n_elements * t._shape(w).element_bits / 8) for w in t.writes)
        least = _least_bytes(t, every)
        most = sum(max(truth.n_sectors for truth in own) for own in truths) * SECTOR_BITS // 8
        lower, upper = table["dram_bytes_lower"][i], table["dram_bytes_upper"][i]
        if not written <= lower <= least + written or upper < most + written:
            found.append(f"{candidate}: {lower} to {upper} bytes move, not {least} to {most} and {written}")
        found += wrong_words(t, candidate, truths)
    return found


def _least_bytes(t: hm.results.Tiling, every: list[list[oracle.Enumerated]]) -> int:
    """The bytes of what must be read: elements that several maps of an operand reach count once."""
    elements: dict[tuple[int, tuple[int, ...]], list[set[tuple[int, ...]]]] = {}
    widths = {}
    for read, own in zip(t.reads, every, strict=True):
        place = (read.operand, read.shape_index)
        reached = [set(map(tuple, points.elements.tolist())) for points in own] * (4 // len(own))
        known = elements.setdefault(place, [set() for _ in reached])
        elements[place] = [a | b for a, b in zip(known, reached, strict=True)]
        widths[place] = t._shape(read).element_bits
    return sum(ceil(min(map(len, sets)) * widths[place] / 8) for place, sets in elements.items())


def _enumerated(read: hm.results.TileRead, sizes: list[int], rng: oracle.Rng) -> list[oracle.Enumerated]:
    """All points of a read, for the least, the greatest and other values of its runtime variables."""
    assert read.map is not None, read.unknown
    runtime = read.map.runtime
    draws = [[v.lower for v in runtime]]
    if runtime:
        draws += [[v.upper for v in runtime]]
        draws += [[int(rng.integers(v.lower, v.upper + 1)) for v in runtime] for _ in range(2)]
    return [oracle.Enumerated(read.map, sizes, values) for values in draws]


def contradictions(row: dict[str, float], truth: Truth) -> list[str]:
    """The figures of a row that are not those of the truth, or not bounds of them."""
    values = {
        "tile_bytes": truth.bytes(truth.largest),
        "run_bytes": truth.bytes(truth.longest),
        "read_bytes": truth.bytes(truth.elements),
        "distinct_bytes": truth.bytes(truth.distinct),
    }
    if truth.elements:
        values["waste"] = truth.boxes / truth.elements
    wrong = []
    for name, value in values.items():
        said, exact = row[name], row[f"{name}_exact"]
        if not (isclose(said, value) if exact else said >= value * (1 - 1e-9)):
            wrong.append(f"{name} {said}{' exact' * bool(exact)}, not {value}")
    if row["sectors_exact"] and truth.sectors_of_largest - {row["sectors"]}:
        wrong.append(f"sectors {row['sectors']} exact, not {sorted(truth.sectors_of_largest)}")
    if row["legal"] and not truth.is_box:
        wrong.append("legal, but some tile is not a box")
    return wrong


def wrong_boxes(t, read, points, truth, candidate, *, legal) -> list[str]:  # type: ignore[no-untyped-def]
    """The boxes of tiles that do not hold what they read, or more although they are legal."""
    wrong = []
    for tile, elements in truth.tiles.items():
        inside = oracle.inside(t.box(read, candidate, tile, points.runtime))
        wanted = set(map(tuple, elements.tolist()))
        if not wanted <= inside or (legal and wanted != inside):
            wrong.append(f"the box of {list(tile)} is {sorted(inside)}, not {sorted(wanted)}")
    return wrong


def wrong_words(t: hm.results.Tiling, candidate: list[int], truths: list[list[Truth]]) -> list[str]:
    """The lines of an explanation whose box has other bytes than they print, or is not that of the tile they name."""
    text = t.explain(candidate)
    wrong = []
    for k, box, printed, tile in LINE.findall(text):
        sizes = [int(part.split(" by ")[0]) for part in box.split(", ") if part]
        at = tuple(int(x) for x in tile.split(", ") if x)
        truth = truths[int(k)][0]  # the least values, as those of boxes
        n_bytes = int(printed.replace(",", ""))
        if truth.bytes(prod(sizes)) != n_bytes or (n_bytes and at not in truth.largest_tiles):
            wrong.append(f"explain({candidate}): {box}, {printed} bytes, {tile}\n{text}")
    return wrong
