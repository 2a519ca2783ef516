"""Legal or not, box or not: programs of each kind of operation, and every tile of every candidate enumerated.

:func:`count` compares the answers with the enumeration, :data:`KINDS` has the programs, of ``cases/tile_programs.txt``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np

import hlomap as hm
from hlomap._core import TilePlan

from . import tile_oracle as oracle
from .families import inserted
from .random_programs import random_tiled

REGIONS = """add { x = f32[] parameter(0)  y = f32[] parameter(1)  ROOT z = f32[] add(x, y) }
step { x = f32[3] parameter(0)  c = f32[3] parameter(1)  s = f32[3] add(x, c)
  ROOT r = (f32[3], f32[3]) tuple(s, s) }
"""


@dataclass
class Counts:
    """Candidates by answer and truth."""

    legal_boxes: int = 0
    legal_others: int = 0
    refused_boxes: int = 0
    refused_others: int = 0
    by_form: int = 0
    """Legal boxes without any enumeration in hlomap, as for maps of many points."""
    refused: str | None = None
    """The first program whose boxes are refused."""

    @property
    def boxes(self) -> int:
        """How many are boxes."""
        return self.legal_boxes + self.refused_boxes

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.legal_boxes + other.legal_boxes,
            self.legal_others + other.legal_others,
            self.refused_boxes + other.refused_boxes,
            self.refused_others + other.refused_others,
            self.by_form + other.by_form,
            self.refused or other.refused,
        )


def count(module: hm.Module, rng: oracle.Rng, at_most: int | None = None) -> Counts:
    """All candidates of a program, or a sample, against the enumeration of all tiles."""
    t = hm.tile(module.entry)
    sizes = [max(1, p.size) for p in t.params]
    candidates = t.candidates("dense", at_most, seed=int(rng.integers(1 << 30)))
    is_box = np.ones(len(candidates), bool)
    for read in [*t.reads, *t.writes]:
        if read.map is None:
            is_box[:] = False
            break
        n_runtime = 4 if read.map.runtime else 1
        for _ in range(n_runtime):
            runtime = [int(rng.integers(v.lower, v.upper + 1)) for v in read.map.runtime]
            points = oracle.Enumerated(read.map, sizes, runtime)
            boxes: dict[tuple[int, ...], bool] = {}
            for i, candidate in enumerate(candidates.tolist()):
                # What a parameter does not move lies in all its tiles alike, of whatever size.
                key = tuple(
                    n if moves else size for n, size, moves in zip(candidate, sizes, points.depends, strict=True)
                )
                if key not in boxes:
                    tiles = points.tiles(key)
                    boxes[key] = all(oracle.progressions(elements) is not None for elements in tiles.values())
                # A value that differs from place to place is the same in one tile only if it is looked up once.
                is_box[i] &= boxes[key] and not _varies(read, candidate)
                if read in t.writes:
                    n_tiles = sum(p.kind == "parallel" for p in t.params)
                    is_box[i] &= _is_partition(points.tiles(candidate), n_tiles, t._shape(read).dimensions)
    legal = t.evaluate(candidates, columns=["legal"])["legal"]
    pairs = [int((legal & is_box).sum()), int((legal & ~is_box).sum())]
    pairs += [int((~legal & is_box).sum()), int((~legal & ~is_box).sum())]
    by_form = _by_form(t).evaluate(candidates, *_NO_LIMITS, 1, ["legal"], 1)["legal"]
    assert not (by_form & ~is_box).any(), str(module)
    return Counts(*pairs, int((by_form & is_box).sum()), str(module) if pairs[2] else None)


_NO_LIMITS = (0, False, 0, 0, 0, [], -1, False), (0, 0, 0, 0, 0)


def _by_form(t: hm.results.Tiling) -> TilePlan:
    """The plan of a tiling that enumerates no points."""
    every = [*t.reads, *t.writes]
    arrays = [(r._own_map, t._shape(r), r.is_exact_map, k) for k, r in enumerate(every)]
    n_parallel, n_reads = sum(p.kind == "parallel" for p in t.params), len(t.reads)
    return TilePlan([p.size for p in t.params], n_parallel, [], arrays, n_reads, n_reads + t._tiled, few_points=0)


def _varies(read: hm.results.TileRead, candidate: list[int]) -> bool:
    """Whether a runtime value of a tile is looked up in more than one place."""
    assert read.map is not None
    for v in read.map.runtime:
        for e in v.element or ():
            names = oracle._names(str(e))
            if any(n > 1 and f"d{k}" in names for k, n in enumerate(candidate)):
                return True
    return False


def _is_partition(tiles: dict[tuple[int, ...], oracle.Ints], n_parallel: int, sizes: tuple[int, ...]) -> bool:
    """Whether every tile writes a box of its own of a regular partition."""
    by_tile: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for tile, elements in tiles.items():
        by_tile.setdefault(tile[:n_parallel], set()).update(map(tuple, elements.tolist()))
    if not by_tile:
        return True
    first = [min(elements) for elements in by_tile.values()]
    n = [max(len({e[d] for e in elements}) for elements in by_tile.values()) for d in range(len(sizes))]
    n_tiles = int(np.prod([-(-size // k) for size, k in zip(sizes, n, strict=True)], dtype=np.int64))
    aligned = all(x % k == 0 for start in first for x, k in zip(start, n, strict=True))
    return aligned and n_tiles == len(by_tile) and len(set(first)) == len(first)


def program(body: str) -> hm.Module:
    """The program with this entry, or this program."""
    if body.startswith("HloModule"):
        return hm.parse(body)
    return hm.parse(f"HloModule m, num_partitions=4\n{REGIONS}ENTRY e {{\n{body}\n}}")


def _entries(text: str) -> list[str]:
    """The entries that a template gives for every choice of its numbers."""
    choices, _, templates = text.strip().partition("\n")
    names = choices[len("for ") : choices.index(" in ")]
    taken = ", ".join(f"{name}={name}" for name in re.findall(r"\w+", names))
    numbers = eval(f"[dict({taken}) {choices}]", {"product": product})
    return [inserted(template, **chosen) for chosen in numbers for template in templates.split("\n--\n")]


def entries_of(file: str) -> dict[str, list[str]]:
    """The entries of a file of templates, by kind."""
    text = (Path(__file__).parents[1] / "cases" / file).read_text(encoding="utf-8")
    parts = (part.partition("\n") for part in text.split("\n== ")[1:])
    return {name: _entries(templates) for name, _, templates in parts}


KINDS = entries_of("tile_programs.txt")


def count_kind(kind: str, at_most: int | None = None, n_programs: int | None = None) -> Counts:
    """The counts of all programs of a kind, or of some, with so many candidates each."""
    rng = np.random.default_rng(0)
    return sum((count(program(body), rng, at_most) for body in islice(KINDS[kind], n_programs)), Counts())


def count_random(n: int, seed: int = 0, at_most: int | None = None) -> Counts:
    """The counts of random fusions."""
    rng = np.random.default_rng(seed)
    return sum((count(random_tiled(rng), rng, at_most) for _ in range(n)), Counts())
