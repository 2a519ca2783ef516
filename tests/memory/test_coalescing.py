"""Coalescing against an enumeration of every lane of every request, and goldens.

The enumeration evaluates the thread map, the map of the read and the layout one after the other, and looks at one
request at a time.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from math import lcm
from typing import Any

import numpy as np
import pytest
from support.inexact import inexact_rows
from support.layout_reference import positions
from support.map_pairs import grid, spans
from support.random_programs import DTYPES, random_moves

import hlomap as hm
from hlomap.memory.coalescing import Coalescing

COUNT = "hlomap.memory.coalescing.count_requests"

# ------------------------------------------------------------------------------------------------- the enumeration


def enumerated(
    thread_map: hm.IndexingMap,
    maps: list[hm.IndexingMap],
    shape: hm.Shape,
    warp: int,
    vector: int,
    offset: int = 0,
    values: Mapping[int, np.ndarray] | None = None,
) -> tuple[int, int, int, int]:
    """Requests, sectors, bytes and the longest run of a read by two maps in turn."""
    totals = np.zeros(4, np.int64)
    if thread_map.is_known_empty:
        return (0, 0, 0, 0)
    for lanes in requests(thread_map, maps, shape, warp, vector, values).values():
        for chosen in accesses(lanes, shape.element_bits, vector, offset):
            bits = np.concatenate(chosen)[:, None] + np.arange(shape.element_bits) + 8 * offset
            touched = np.unique(bits // 8)
            runs = np.split(touched, np.flatnonzero(np.diff(touched) > 1) + 1)
            totals += [1, len(np.unique(touched // 32)), len(touched), 0]
            totals[3] = max(totals[3], *(len(run) for run in runs))
    return tuple(totals.tolist())  # type: ignore[return-value]


def requests(
    thread_map: hm.IndexingMap,
    maps: list[hm.IndexingMap],
    shape: hm.Shape,
    warp: int,
    vector: int,
    values: Mapping[int, np.ndarray] | None,
) -> dict[Any, dict[int, dict[int, int]]]:
    """The bit address for each request, lane and step of it."""
    element = at = grid(*spans(thread_map.dims))
    kept: list[np.ndarray] = []
    bounds: list[tuple[int, int]] = []
    for m in [thread_map, *maps]:
        ranges = grid(*spans(m.ranges))
        rows = np.repeat(np.arange(len(element)), len(ranges))
        element, r = element[rows], np.tile(ranges, (len(rows) // max(1, len(ranges)), 1))
        at, kept = at[rows], [column[rows] for column in kept]
        rt = np.empty((len(element), len(m.runtime)), np.int64)
        for k, v in enumerate(m.runtime):
            assert v.source is not None
            rt[:, k] = np.clip((values or {})[v.source][index_of(v, element)], v.lower, v.upper)
        inside = m.in_domain(element, r, rt)
        element = m.evaluate(element, r, rt, check=False)[inside]
        at, kept = at[inside], [column[inside] for column in [*kept, *r.T]]
        bounds += [(v.lower, v.upper) for v in m.ranges]
    where, _ = positions(shape)
    flat = np.zeros(len(element), np.int64)
    for size, column in zip(shape.dimensions, element.T, strict=True):
        flat = flat * size + column
    bits = where.reshape(-1)[flat] * shape.element_bits
    sizes = [v.upper + 1 for v in thread_map.dims]
    thread = at[:, 0] + sizes[0] * (at[:, 1] + sizes[1] * at[:, 2])
    last = max((k for k, (low, high) in enumerate(bounds) if high > low), default=None)
    found: dict[Any, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(dict))
    for i in range(len(bits)):
        ranges_here = [int(column[i]) for column in kept]
        step = 0
        if last is not None:
            group, step = divmod(ranges_here[last] - bounds[last][0], vector)
            ranges_here[last] = group
        key = (*at[i, 3:].tolist(), int(thread[i]) // warp, *ranges_here)
        found[key][int(thread[i]) % warp][step] = int(bits[i])
    return found


def index_of(v: hm.maps.Variable, points: np.ndarray) -> Any:
    here = hm.IndexingMap([(0, 10**6)] * points.shape[1], v.element)
    return tuple(here.evaluate(points, check=False).T) if v.element else ()


def accesses(lanes: Mapping[int, Mapping[int, int]], width: int, vector: int, offset: int) -> list[list[np.ndarray]]:
    """The requests of one group of steps: all at once, or step by step."""
    size = vector * width
    whole = vector > 1 and all(
        len(steps) == vector
        and size % 8 == 0
        and (steps[0] + 8 * offset) % size == 0
        and all(steps[j] == steps[0] + j * width for j in range(vector))
        for steps in lanes.values()
    )
    if whole:
        return [[np.array(list(steps.values())) for steps in lanes.values()]]
    by_step: dict[int, list[np.ndarray]] = defaultdict(list)
    for steps in lanes.values():
        for step, bits in steps.items():
            by_step[step].append(np.array([bits]))
    return list(by_step.values())


def random_thread_map(rng: random.Random, shape: hm.Shape) -> hm.IndexingMap:
    source = shape if rng.random() < 0.7 else hm.Shape(shape.dtype, shape.dimensions)
    threads = rng.choice([32, 48, 7, 64, (4, 5, 3), (16, 2), (1, 40)])
    blocks = rng.choice([None, None, 1, 2, (2, 1, 2)])
    return hm.layouts.thread_map(source, threads=threads, blocks=blocks, per_thread=rng.choice([1, 1, 2, 3, 4, 8]))


def columns(record: Coalescing) -> tuple[int | None, ...]:
    return record.requests, record.sectors, record.bytes_used, record.contiguous_bytes


@pytest.mark.parametrize("seed", range(300))
def test_counts_of_random_programs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Digits and cuts are tried, too, which only large grids need."""
    few = [1 << 15, 64, 1][seed % 3]
    monkeypatch.setattr(COUNT, lambda *given: hm._core.count_requests(*given, (few, few, 1 << 22)))
    rng = random.Random(seed)
    module = hm.parse(random_moves(rng, DTYPES[seed % len(DTYPES)]))
    shape = module.entry.root.shape
    thread_map = random_thread_map(rng, shape)
    warp, vector = rng.choice([32, 32, 16, 5]), [1, 2, 4][seed % 3 if seed % 2 else 0]
    *reads, write = hm.coalescing(module.entry, thread_map, warp=warp, vector=vector)
    maps = hm.output_to_input(module.entry)[0]
    assert len(reads) == len(maps) and write.is_write
    for record, path in [(write, []), *((r, [m]) for r, m in zip(reads, maps, strict=True))]:
        assert record.exact is maps.exact or record.is_write, record.reason
        expected = enumerated(thread_map, path, record.instruction.shape, warp, vector)
        assert columns(record) == expected, (str(module), str(thread_map), warp, vector)
        assert record.bytes_moved == 32 * expected[1]


@pytest.mark.parametrize("seed", range(60))
def test_runtime_values_give_upper_bounds(seed: int) -> None:
    rng = random.Random(seed)
    dtype = rng.choice(["f32", "s8", "f64", "bf16"])
    n, m, k = rng.randint(4, 20), rng.choice([3, 8, 16, 40]), rng.randint(1, 9)
    at = "i = s32[] parameter(1)  j = s32[] parameter(2)"
    text = [
        f"""p = {dtype}[{n},{m}] parameter(0)  {at}
        ROOT r = {dtype}[2,{m}] dynamic-slice(p, i, j), dynamic_slice_sizes={{2,{m}}}""",
        f"""p = {dtype}[{n},{m}] parameter(0)  {at}
        ROOT r = {dtype}[2,2] dynamic-slice(p, i, j), dynamic_slice_sizes={{2,2}}""",
        f"""p = {dtype}[{n},{m}] parameter(0)  i = s32[{k},1] parameter(1)
        ROOT r = {dtype}[{k},{m}] gather(p, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}},
          index_vector_dim=1, slice_sizes={{1,{m}}}""",
        f"""p = {dtype}[{n},{m}] parameter(0)  i = s32[] parameter(1)
        s = {dtype}[2,{m}] dynamic-slice(p, i, i), dynamic_slice_sizes={{2,{m}}}
        t = {dtype}[{m},2] transpose(s), dimensions={{1,0}}
        ROOT r = {dtype}[{2 * m}] reshape(t)""",
        f"""p = {dtype}[{n},{m}] parameter(0)  u = {dtype}[2,{m}] parameter(1)  i = s32[] parameter(2)
        z = s32[] constant(0)
        ROOT r = {dtype}[{n},{m}] dynamic-update-slice(p, u, i, z)""",
    ][seed % 5]
    module = hm.parse(f"ENTRY e {{ {text} }}")
    vector = rng.choice([1, 2])
    thread_map = hm.layouts.thread_map(
        module.entry.root.shape, threads=rng.choice([32, 64]), per_thread=rng.choice([1, vector])
    )
    records = hm.coalescing(module.entry, thread_map, vector=vector)
    maps = hm.output_to_input(module.entry)
    for operand, found in enumerate(maps):
        own = [r for r in records if r.operand == operand and not r.is_write]
        for record, read in zip(own, found, strict=True):
            for trial in range(6):
                draw = np.random.default_rng(trial)
                values = {
                    i.number: draw.integers(0, [1, n, m][trial % 3], i.shape.dimensions)
                    for i in module.entry.parameters
                }
                expected = enumerated(thread_map, [read], record.instruction.shape, 32, vector, values=values)
                bounds = columns(record)
                totals = zip(expected[:3], bounds[:3], strict=True)
                assert all(x is not None and e <= x for e, x in totals), (record, expected)
                if record.exact:
                    assert expected == bounds


@pytest.mark.parametrize("seed", range(30))
def test_alignment_of_arrays(seed: int) -> None:
    """The most over all places in a sector where the array may begin."""
    rng = random.Random(seed)
    dtype = DTYPES[seed % len(DTYPES)]
    module = hm.parse(random_moves(rng, dtype))
    shape = module.entry.root.shape
    thread_map = random_thread_map(rng, shape)
    alignment, vector = rng.choice([1, 4, 16, 24, 64]), rng.choice([1, 2])
    write = hm.coalescing(module.entry, thread_map, vector=vector, base_alignment=alignment)[-1]
    element = max(1, shape.element_bits // 8)
    step = lcm(alignment, element)
    used = 1 if step % max(1, vector * shape.element_bits // 8) or vector * shape.element_bits % 8 else vector
    starts = range(0, 32 * step, step)
    seen = [enumerated(thread_map, [], shape, 32, used if used == vector else 1, start) for start in starts]
    if used == vector or vector == 1:
        assert columns(write) == tuple(np.max(seen, axis=0).tolist())
        assert write.exact == (len(set(seen)) == 1)


@pytest.mark.parametrize("seed", range(40))
def test_bounds_where_nothing_may_be_counted(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the effort is limited, records have upper bounds and say so."""
    rng = random.Random(seed)
    module = hm.parse(random_moves(rng, DTYPES[seed % len(DTYPES)]))
    thread_map = random_thread_map(rng, module.entry.root.shape)
    vector = rng.choice([1, 2])
    exact = hm.coalescing(module.entry, thread_map, vector=vector)
    monkeypatch.setattr(COUNT, lambda *given: hm._core.count_requests(*given, (1 << 12, 1 << 15, 0)))
    for bound, record in zip(hm.coalescing(module.entry, thread_map, vector=vector), exact, strict=True):
        assert (not bound.exact and bound.reason) or record.requests == 0
        assert all(
            b is not None and r is not None and r <= b for r, b in zip(columns(record), columns(bound), strict=True)
        )


def test_accesses_by_inexact_maps_are_bounds() -> None:
    """A map that may have elements that are not read gives at most what moves."""
    with inexact_rows() as module:
        read, write = hm.coalescing(module["c"], hm.layouts.thread_map(module["c"].shape))
    assert (read.exact, read.reason, write.exact) == (False, "some rows", True)
