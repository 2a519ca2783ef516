"""Legal or not, box or not: programs of each kind of operation, and every tile of every candidate enumerated.

:func:`count` compares the answers with the enumeration, :data:`KINDS` has the programs: small shapes with every size,
stride and offset up to some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

import hlomap as hm
from hlomap._core import TilePlan

from . import tile_oracle as oracle

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
    arrays = [(r._own_map, t._shape(r), r.is_exact_map, False) for r in t.reads]
    arrays += [(w._own_map, t._shape(w), True, True) for w in t.writes]
    n_parallel = sum(p.kind == "parallel" for p in t.params)
    return TilePlan([p.size for p in t.params], n_parallel, arrays, len(t.reads) + t._tiled, few_points=0)


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
    """The program with this entry."""
    return hm.parse(f"HloModule m, num_partitions=4\n{REGIONS}ENTRY e {{\n{body}\n}}")


def _slices() -> Iterator[str]:
    for n, start, step in product(range(4, 9), range(3), range(1, 4)):
        size = -(-(n - start) // step)
        yield f"p = f32[{n}] parameter(0)\nROOT s = f32[{size}] slice(p), slice={{[{start}:{n}:{step}]}}"


def _slices_of_reshapes() -> Iterator[str]:
    for a, b, start, step in product(range(2, 5), range(2, 5), range(3), range(1, 3)):
        n = a * b
        size = -(-(n - start) // step)
        yield (
            f"p = f32[{a},{b}] parameter(0)\nr = f32[{n}] reshape(p)\n"
            f"ROOT s = f32[{size}] slice(r), slice={{[{start}:{n}:{step}]}}"
        )


RESHAPES = [
    ([1, 8, 6, 4], [48, 4]), ([192, 4], [4, 8, 6, 4]), ([12, 4], [4, 12]), ([3, 5, 7], [105]), ([20], [4, 5]),
    ([36], [3, 12]), ([6, 6], [36]), ([4, 9], [36]), ([4, 9], [6, 6]), ([2, 3, 4], [24]), ([24], [2, 3, 4]),
    ([2, 12], [8, 3]), ([6, 4], [3, 8]), ([4, 6], [2, 2, 6]), ([2, 2, 6], [4, 6]), ([30], [5, 6]),
]  # fmt: skip


def _reshapes() -> Iterator[str]:
    for before, after in RESHAPES:
        yield f"p = {oracle.shape(before)} parameter(0)\nROOT r = {oracle.shape(after)} reshape(p)"


def _pads(interior: Iterable[int]) -> Iterator[str]:
    for n, low, high, inner in product((3, 5), range(-1, 3), range(-1, 3), interior):
        size = n + low + high + (n - 1) * inner
        if size > 0:
            yield (
                f"p = f32[{n}] parameter(0)\nz = f32[] constant(0)\n"
                f"ROOT r = f32[{size}] pad(p, z), padding={low}_{high}_{inner}"
            )


def _windows() -> Iterator[str]:
    for n, size, stride, low, dilate in product((7, 9), (2, 3), (1, 2, 3), (0, 1), (1, 2)):
        out = (n + low - ((size - 1) * dilate + 1)) // stride + 1
        window = f"size={size} stride={stride} pad={low}_0 rhs_dilate={dilate}"
        yield (
            f"p = f32[{n}] parameter(0)\nz = f32[] constant(0)\n"
            f"ROOT w = f32[{out}] reduce-window(p, z), window={{{window}}}, to_apply=add"
        )


def _convolutions() -> Iterator[str]:
    for n, stride, low, base, dilate in product((6, 7), (1, 2), (0, 1), (1, 2), (1, 2)):
        out = ((n - 1) * base + 1 + low - (2 * dilate + 1)) // stride + 1
        window = f"size=3 stride={stride} pad={low}_0 lhs_dilate={base} rhs_dilate={dilate}"
        yield (
            f"p = f32[1,{n},2] parameter(0)\nw = f32[3,2,2] parameter(1)\n"
            f"ROOT c = f32[1,{out},2] convolution(p, w), window={{{window}}}, dim_labels=b0f_0io->b0f"
        )


def _products() -> Iterator[str]:
    for m, k, n in product((3, 4), (4, 6), (2, 5)):
        yield (
            f"a = f32[{m},{k}] parameter(0)\nb = f32[{k},{n}] parameter(1)\n"
            f"ROOT d = f32[{m},{n}] dot(a, b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}"
        )


def _scaled_products() -> Iterator[str]:
    for (k, blocks), rows in product(((6, 2), (6, 3), (8, 2), (12, 3)), (1, 2)):
        yield (
            f"a = f32[2,{k}] parameter(0)\nb = f32[4,{k}] parameter(1)\ns = f32[2,{blocks}] parameter(2)\n"
            f"t = f32[{4 // rows},{blocks}] parameter(3)\n"
            "ROOT d = f32[2,4] scaled-dot(a, b, s, t), lhs_contracting_dims={1}, rhs_contracting_dims={1}"
        )


def _ragged_products() -> Iterator[str]:
    for m, groups in product((4, 6), (1, 2, 3, 20)):
        yield (
            f"a = f32[{m},2] parameter(0)\nb = f32[{groups},2,3] parameter(1)\ng = s32[{groups}] parameter(2)\n"
            f"ROOT d = f32[{m},3] ragged-dot(a, b, g), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}, "
            "lhs_ragged_dims={0}, rhs_group_dims={0}"
        )


def _scans() -> Iterator[str]:
    for n, reverse, both in product((4, 5, 7), ("", ", is_reverse=true"), (True, False)):
        tail = f"dimensions={{0}}, num_carries=1, to_apply=step{reverse}"
        scan = f"p = f32[{n},3] parameter(0)\ni = f32[3] parameter(1)\n"
        if both:
            yield f"{scan}ROOT r = (f32[{n},3], f32[3]) scan(p, i), {tail}"
        else:
            yield (
                f"{scan}s = (f32[{n},3], f32[3]) scan(p, i), {tail}\nROOT r = f32[{n},3] get-tuple-element(s), index=0"
            )


def _gathers() -> Iterator[str]:
    for n, rows, width in product((5, 7), (3, 4), (1, 2)):
        yield (
            f"p = f32[{n},4] parameter(0)\ni = s32[{rows},1] parameter(1)\n"
            f"ROOT g = f32[{rows},{width},4] gather(p, i), offset_dims={{1,2}}, collapsed_slice_dims={{}}, "
            f"start_index_map={{0}}, index_vector_dim=1, slice_sizes={{{width},4}}"
        )


def _dynamic_slices() -> Iterator[str]:
    for n, size in product((6, 8), (2, 3, 5)):
        yield (
            f"p = f32[{n},3] parameter(0)\ni = s32[] parameter(1)\nj = s32[] parameter(2)\n"
            f"ROOT d = f32[{size},3] dynamic-slice(p, i, j), dynamic_slice_sizes={{{size},3}}"
        )


def _updates() -> Iterator[str]:
    for n, size in product((6, 8), (2, 3)):
        yield (
            f"p = f32[{n},3] parameter(0)\nu = f32[{size},3] parameter(1)\ni = s32[] parameter(2)\n"
            f"j = s32[] parameter(3)\nROOT d = f32[{n},3] dynamic-update-slice(p, u, i, j)"
        )


def _all_gathers() -> Iterator[str]:
    for n, along in product((2, 3, 4), (0, 1)):
        out = [n, 5]
        out[along] *= 4
        yield (
            f"p = f32[{n},5] parameter(0)\nROOT g = {oracle.shape(out)} all-gather(p), dimensions={{{along}}}, "
            "replica_groups={{0,1,2,3}}, channel_id=1, use_global_device_ids=true"
        )


def _equal_outputs() -> Iterator[str]:
    for a, b in product((3, 4), (4, 6)):
        x = f"f32[{a},{b}]"
        for q in ("p", "q"):
            operands = f"p = {x} parameter(0)\nq = {x} parameter(1)"
            yield f"{operands}\na = {x} abs(p)\nn = {x} negate({q})\nROOT t = ({x}, {x}) tuple(a, n)"


def _unequal_outputs() -> Iterator[str]:
    for a, b, d in product((3, 4), (4, 6), (0, 1)):
        x, kept = f"f32[{a},{b}]", (a, b)[1 - d]
        head = f"p = {x} parameter(0)\na = {x} abs(p)\nz = f32[] constant(0)\n"
        reduce = f"r = f32[{kept}] reduce(a, z), dimensions={{{d}}}, to_apply=add\n"
        yield f"{head}{reduce}ROOT t = ({x}, f32[{kept}]) tuple(a, r)"
        yield f"{head}f = f32[{a * b}] reshape(a)\nROOT t = ({x}, f32[{a * b}]) tuple(a, f)"
        yield f"{head}f = f32[{b},{a}] transpose(a), dimensions={{1,0}}\nROOT t = ({x}, f32[{b},{a}]) tuple(a, f)"


def _others() -> Iterator[str]:
    for n in (4, 6, 9):
        yield f"p = f32[{n},3] parameter(0)\nROOT r = f32[{n},3] reverse(p), dimensions={{0}}"
        yield f"p = f32[{n},3] parameter(0)\nROOT r = f32[3,{n}] transpose(p), dimensions={{1,0}}"
        spread = f"p = f32[{n}] parameter(0)\nb = f32[{n},3] broadcast(p), dimensions={{0}}"
        yield f"{spread}\nROOT r = f32[{3 * n}] reshape(b)"
        yield (
            f"p = f32[{n},2] parameter(0)\nq = f32[3,2] parameter(1)\n"
            f"ROOT c = f32[{n + 3},2] concatenate(p, q), dimensions={{0}}"
        )
        yield (
            f"p = f32[{n},4] parameter(0)\nz = f32[] constant(0)\n"
            "ROOT r = f32[4] reduce(p, z), dimensions={0}, to_apply=add"
        )


KINDS: dict[str, Iterable[str]] = {
    "reverse, transpose, broadcast, concatenate, reduce": list(_others()),
    "slice": list(_slices()),
    "slice of a reshape": list(_slices_of_reshapes()),
    "16 reshapes": list(_reshapes()),
    "padding": list(_pads((0,))),
    "interior padding": list(_pads((1, 2))),
    "reduce-window": list(_windows()),
    "convolution": list(_convolutions()),
    "dot": list(_products()),
    "scaled-dot": list(_scaled_products()),
    "ragged-dot": list(_ragged_products()),
    "scan": list(_scans()),
    "gather": list(_gathers()),
    "dynamic-slice": list(_dynamic_slices()),
    "dynamic-update-slice": list(_updates()),
    "all-gather": list(_all_gathers()),
    "outputs of one shape": list(_equal_outputs()),
    "outputs of different shape": list(_unequal_outputs()),
}


def count_kind(kind: str, seed: int = 0, at_most: int | None = None, n_programs: int | None = None) -> Counts:
    """The counts of all programs of a kind, or of some, with so many candidates each."""
    rng = np.random.default_rng(seed)
    found = Counts()
    for body in islice(KINDS[kind], n_programs):
        found += count(program(body), rng, at_most)
    return found


def count_random(n: int, seed: int = 0, at_most: int | None = None) -> Counts:
    """The counts of random fusions."""
    rng = np.random.default_rng(seed)
    found = Counts()
    for _ in range(n):
        found += count(oracle.random_fusion(rng), rng, at_most)
    return found
