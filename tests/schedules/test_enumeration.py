"""Every thread map by enumeration: each element is written once and read once, and shared memory is written before."""

from __future__ import annotations

import random
from collections import Counter
from math import prod

import pytest
from support.map_pairs import points
from support.schedules import visits, written_before_read

import hlomap as hm
from hlomap.schedules import flat
from hlomap.schedules.launch import Launch
from hlomap.schedules.shape_threads import Options, launch_of_shape

TYPES = ("f32", "bf16", "s8", "f64", "pred", "c64", "s4")
DEVICES = ("a6000", "h100", "b200")
N_SHAPES = 80


def random_layout(rng: random.Random, rank: int) -> hm.Layout:
    return hm.Layout(rng.sample(range(rank), rank))


def once(m: hm.IndexingMap | None, sizes: list[int]) -> bool:
    return m is not None and bool((visits([m], sizes) == 1).all())


def keeps_shared_memory(launch: Launch) -> bool:
    if launch.shared_write is None or launch.shared_read is None:
        return launch.shared_shape == ()
    return written_before_read(launch.shared_write, launch.shared_read)


@pytest.mark.parametrize("schedule", ["loop", "scatter", "triton_block"])
def test_flat_schedules(schedule: str) -> None:
    rng = random.Random(1)
    for _ in range(N_SHAPES):
        rank = rng.randint(1, 4)
        sizes = [rng.randint(1, 11) for _ in range(rank)]
        shape = hm.Shape(rng.choice(TYPES), sizes, random_layout(rng, rank))
        options = Options(unroll=rng.choice([None, 1, 2, 4, 8]))
        if schedule == "triton_block":
            options = Options(tile=[2 ** rng.randint(0, 3) for _ in sizes], variant=rng.choice([None, "first_fastest"]))
        launch = launch_of_shape(shape, schedule, hm.Device.named(rng.choice(DEVICES)), options)
        assert once(launch.output, sizes), (shape, options)


def test_concatenations() -> None:
    rng = random.Random(4)
    for _ in range(N_SHAPES):
        rank = rng.randint(1, 3)
        sizes, dimension = [rng.randint(1, 20) for _ in range(rank)], rng.randrange(rank)
        extents = [rng.choice([1, 2, 4, 8, 12, 20, 300]) for _ in range(rng.randint(1, 4))]
        layout = random_layout(rng, rank)
        operands = [hm.Shape("f32", [*sizes[:dimension], n, *sizes[dimension + 1 :]], layout) for n in extents]
        unroll, device = rng.choice([1, 2, 4]), hm.Device.named("h100")
        launches = [flat.concatenate(operands, dimension, k, unroll, device) for k in range(len(operands))]
        assert len({(launch.threads, launch.blocks) for launch in launches}) == 1
        whole = [*sizes[:dimension], sum(extents), *sizes[dimension + 1 :]]
        assert (visits([launch.output for launch in launches], whole) == 1).all(), operands
        for launch, operand in zip(launches, operands, strict=True):
            assert once(launch.input, list(operand.dimensions)), operands


def test_scatters_with_sorted_indices() -> None:
    rng = random.Random(5)
    for _ in range(N_SHAPES):
        sizes = [rng.randint(1, 300), *(rng.choice([1, 2, 3, 8, 33, 64]) for _ in range(rng.randint(0, 2)))]
        if prod(sizes) > 20_000:
            continue
        per_warp = flat.indices_per_warp(
            sizes[0], rng.randint(1, 9), 32, rng.randint(1, 2), hm.Device("few", n_multiprocessors=1, threads=64)
        )
        launch = flat.sorted_scatter(hm.Shape(rng.choice(TYPES), sizes), per_warp)
        assert once(launch.output, sizes), (sizes, per_warp)


def test_transposes() -> None:
    rng, seen = random.Random(2), Counter[str]()
    while seen.total() < N_SHAPES:
        rank = rng.randint(2, 4)
        sizes = [rng.randint(1, 70) if rank == 2 else rng.choice([1, 2, 5, 17, 32, 36, 64]) for _ in range(rank)]
        if prod(sizes) > 15_000:
            continue
        permutation = rng.sample(range(rank), rank)
        layout = rng.choice([None, random_layout(rng, rank)])
        shape = hm.Shape(rng.choice(TYPES[:-1]), sizes, layout)
        # Few multiprocessors make a grid busy, so that wide tiles occur.
        device = hm.Device("small", n_multiprocessors=rng.choice([1, 84]), threads=128, generation=rng.choice([9, 10]))
        try:
            launch = launch_of_shape(shape, "transpose", device, Options(permutation=permutation))
        except hm.errors.ShapeError as error:
            assert "moves elements" in str(error)
            continue
        seen[f"{launch.emitter} {launch.vector > 1}"] += 1
        assert once(launch.input, sizes), (shape, permutation)
        assert once(launch.output, [sizes[d] for d in permutation]), (shape, permutation)
        assert keeps_shared_memory(launch), (shape, permutation)
    assert min(seen[key] for key in ("tiled_transpose False", "tiled_transpose True", "packed_transpose True")) >= 5


@pytest.mark.parametrize("schedule", ["row_reduction", "column_reduction"])
def test_reductions(schedule: str) -> None:
    rng, seen = random.Random(3), Counter[str]()
    while seen.total() < N_SHAPES:
        rank = rng.randint(1, 4)
        sizes = [rng.choice([1, 2, 3, 4, 6, 8, 16, 31, 32, 33, 64, 100, 257, 900, 2050]) for _ in range(rank)]
        if prod(sizes) > 30_000:
            continue
        reduce = rng.sample(range(rank), rng.randint(1, rank))
        shape = hm.Shape(rng.choice(TYPES), sizes, random_layout(rng, rank))
        try:
            launch = launch_of_shape(shape, schedule, hm.Device.named(rng.choice(DEVICES)), Options(reduce=reduce))
        except (hm.errors.ShapeError, hm.errors.UnsupportedError):
            continue
        if launch.threads * prod(launch.blocks) > 20_000:
            continue
        seen[launch.emitter] += 1
        assert once(launch.input, sizes), (shape, reduce)
        assert once(launch.output, [n for d, n in enumerate(sizes) if d not in reduce]), (shape, reduce)
        assert keeps_shared_memory(launch), (shape, reduce)
    assert len(seen) == 2 and min(seen.values()) > 10


BANKS = [
    # shape, options, schedule, ways of the write and of the read
    ("f32[100,32,64]", {"permutation": [0, 2, 1]}, "transpose", 1, 1),
    ("f64[100,32,64]", {"permutation": [0, 2, 1]}, "transpose", 2, 2),
    ("s8[160,170,3]", {"permutation": [1, 0, 2]}, "transpose", 2, 1),
    ("bf16[30,16,30]", {"permutation": [2, 1, 0]}, "transpose", 1, 1),
    ("f32[13,1051,321]", {"reduce": [1]}, "column_reduction", 1, 1),
    ("f32[2048,64]", {"reduce": [0]}, "column_reduction", 1, 2),
    ("f32[11,72,8]", {"reduce": [1]}, "column_reduction", 2, 1),
    ("f32[11,72,32]", {"reduce": [1]}, "column_reduction", 1, 4),
]


@pytest.mark.parametrize(("text", "options", "schedule", "write", "read"), BANKS)
def test_banks(text: str, options: dict[str, list[int]], schedule: str, write: int, read: int) -> None:
    """How many words of one bank a warp accesses at once, at most; a bank has every 32nd word of 4 bytes."""
    shape = hm.Shape.parse(text)
    launch = launch_of_shape(shape, schedule, hm.Device.named("h100"), Options(**options))  # type: ignore[arg-type]
    for m, expected in ((launch.shared_write, write), (launch.shared_read, read)):
        assert m is not None
        assert ways(m, launch.shared_shape, shape.element_bits // 8) == expected, str(m)


def ways(m: hm.IndexingMap, sizes: tuple[int, ...], n_bytes: int) -> int:
    """The most words in one bank that the first warp of the first block accesses in one step."""
    steps = {}
    first = [(name.name, 0, 31 if i == 0 else 0) for i, name in enumerate(m.dims)]
    near = hm.IndexingMap(
        first,
        [*m.results, *(hm.Expr.range(i) for i in range(len(m.ranges)))],
        ranges=m.ranges,
        constraints=m.constraints,
    )
    for *place, key in [(*row[: len(sizes)], tuple(row[len(sizes) :])) for row in points(near)[1].tolist()]:
        at = 0
        for i, n in zip(place, sizes, strict=True):
            at = at * n + i
        words = range(at * n_bytes // 4, (at * n_bytes + n_bytes - 1) // 4 + 1)
        steps.setdefault(key, set()).update(words)
    return max(max(Counter(word % 32 for word in words).values()) for words in steps.values())
