"""Partial results and halos by running: what the devices compute from their blocks combines to the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import hlomap as hm

MESHES = [{"a": 2, "b": 4}, {"a": 8}, {"a": 4, "b": 2}, {"a": 2, "b": 2, "c": 2}]
ADD = "add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }"
MAX = "max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }"
# The program, the neutral element of its operands, and how partial results combine.
PROGRAMS: dict[str, tuple[str, float, Any]] = {
    "dot": (
        """ENTRY e { x = f32[8,16] parameter(0) y = f32[16,8] parameter(1)
        ROOT r = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }""",
        0,
        np.sum,
    ),
    "batched dot": (
        """ENTRY e { x = f32[8,3,16] parameter(0) y = f32[8,16,5] parameter(1) ROOT r = f32[8,3,5] dot(x, y),
        lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1} }""",
        0,
        np.sum,
    ),
    "sum": (
        f"{ADD}\nENTRY e {{ x = f32[8,16] parameter(0) z = f32[] constant(0)\n"
        "ROOT r = f32[8] reduce(x, z), dimensions={1}, to_apply=add }",
        0,
        np.sum,
    ),
    "max": (
        f"{MAX}\nENTRY e {{ x = f32[8,16] parameter(0) z = f32[] constant(-inf)\n"
        "ROOT r = f32[16] reduce(x, z), dimensions={0}, to_apply=max }",
        -np.inf,
        np.max,
    ),
    "convolution": (
        """ENTRY e { x = f32[2,8,16] parameter(0) y = f32[3,16,4] parameter(1)
        ROOT r = f32[2,8,4] convolution(x, y), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f }""",
        0,
        np.sum,
    ),
    "gather": (
        """ENTRY e { x = f32[16,4] parameter(0) i = s32[8,1] constant({{3},{15},{0},{7},{8},{3},{12},{1}})
        ROOT r = f32[8,4] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
        index_vector_dim=1, slice_sizes={1,4} }""",
        0,
        np.sum,
    ),
    "slice": ("ENTRY e { x = f32[16,4] parameter(0) ROOT r = f32[1,4] slice(x), slice={[5:6], [0:4]} }", 0, np.sum),
    "split dimension": (
        f"{ADD}\nENTRY e {{ x = f32[4,4,6] parameter(0) z = f32[] constant(0)\n"
        "ROOT r = f32[6] reduce(x, z), dimensions={0,1}, to_apply=add }",
        0,
        np.sum,
    ),
}


def specs_of(shapes: list[tuple[int, ...]], mesh: dict[str, int], seed: int) -> Iterator[tuple[Any, ...]]:
    """Random specs that divide the arrays."""
    random = np.random.default_rng(seed)
    for _ in range(24):
        found = []
        for shape in shapes:
            spec: list[tuple[str, ...]] = [()] * len(shape)
            ways = [1] * len(shape)
            for axis in random.permutation(list(mesh)):
                k = int(random.integers(len(shape)))
                if random.random() < 0.7 and shape[k] % (ways[k] * mesh[axis]) == 0:
                    spec[k] += (str(axis),)
                    ways[k] *= mesh[axis]
            found.append(tuple(spec))
        yield tuple(found)


def block(spec: Any, shape: tuple[int, ...], at: dict[str, int], mesh: dict[str, int]) -> tuple[slice, ...]:
    """A device's block of an array that the axes divide or not."""
    found = []
    for entry, size in zip(spec, shape, strict=True):
        axes = () if entry is None else (entry,) if isinstance(entry, str) else entry
        position, ways = 0, 1
        for axis in axes:
            position, ways = position * mesh[axis] + at[axis], ways * mesh[axis]
        n = -(-size // ways)
        found.append(slice(min(size, position * n), min(size, position * n + n)))
    return tuple(found)


def needed(plan: hm.results.ShardPlan, name: str) -> Any:
    """The sharding in which an operand of the root is used."""
    copies = [m.target for m in plan.moves.records if m.why == "operand" and m.value == name]
    return eval(copies[-1], {"P": lambda *entries: entries}) if copies else plan.spec(name)


@pytest.mark.parametrize("mesh", MESHES, ids=lambda mesh: "x".join(map(str, mesh.values())))
@pytest.mark.parametrize("name", PROGRAMS)
def test_partial_results_combine_to_the_whole(name: str, mesh: dict[str, int]) -> None:
    text, neutral, combine = PROGRAMS[name]
    module = hm.parse(f"HloModule m\n{text}")
    parameters = list(module.entry.parameters)
    shapes = [tuple(parameter.shape.dimensions) for parameter in parameters]
    random = np.random.default_rng(5)
    arrays = [random.integers(-9, 9, shape).astype(np.float32) for shape in shapes]
    whole = np.asarray(hm.execute(module, *arrays))
    for specs in specs_of(shapes, mesh, 7):
        plan = hm.shard(module, dict(zip(parameters, specs, strict=True)), mesh=mesh)
        partial = [move for move in plan.moves.records if move.why == "partial result"]
        if not partial or any(":" in axis for move in partial for axis in (move.source, move.target)):
            continue
        axes = {axis for move in partial for axis in move.axes}
        source = eval(partial[0].source, {"P": lambda *entries: entries})
        n_halos = sum(move.why == "halo" for move in plan.moves.records)
        for rest in product(*(range(n) for axis, n in mesh.items() if axis not in axes)):
            fixed = dict(zip((axis for axis in mesh if axis not in axes), rest, strict=True))
            results = []
            for place in product(*(range(mesh[axis]) for axis in sorted(axes))):
                at = {**fixed, **dict(zip(sorted(axes), place, strict=True))}
                masked = []
                for parameter, array in zip(parameters, arrays, strict=True):
                    own = np.full_like(array, neutral)
                    where = block(needed(plan, parameter.name), array.shape, at, mesh)
                    if n_halos and array.ndim == 3 and parameter.parameter_number == 0:
                        where = (where[0], slice(None), where[2])  # a window reads beyond the block
                    own[where] = array[where]
                    masked.append(own)
                results.append(np.asarray(hm.execute(module, *masked))[block(source, whole.shape, at, mesh)])
            expected = whole[block(source, whole.shape, {**fixed, **dict.fromkeys(axes, 0)}, mesh)]
            np.testing.assert_array_equal(combine(results, axis=0), expected)


HALOS = {
    "pad": "ENTRY e { x = f32[24,5] parameter(0) z = f32[] constant(0) ROOT r = f32[32,5] pad(x, z), padding=3_5x0_0 }",
    "slice": "ENTRY e { x = f32[32,5] parameter(0) ROOT r = f32[16,5] slice(x), slice={[7:23], [0:5]} }",
    "strided": "ENTRY e { x = f32[40,5] parameter(0) ROOT r = f32[16,5] slice(x), slice={[5:37:2], [0:5]} }",
    "reverse": "ENTRY e { x = f32[32,5] parameter(0) ROOT r = f32[32,5] reverse(x), dimensions={0} }",
    "window": f"{ADD}\nENTRY e {{ x = f32[16,16] parameter(0) z = f32[] constant(0)\n"
    "ROOT r = f32[16,16] reduce-window(x, z), window={size=3x5 pad=1_1x2_2}, to_apply=add }",
    "pool": f"{ADD}\nENTRY e {{ x = f32[16,16] parameter(0) z = f32[] constant(0)\n"
    "ROOT r = f32[8,8] reduce-window(x, z), window={size=3x3 stride=2x2 pad=1_0x1_0}, to_apply=add }",
    "concatenate": "ENTRY e { x = f32[16,5] parameter(0) ROOT r = f32[32,5] concatenate(x, x), dimensions={0} }",
}


@pytest.mark.parametrize("mesh", MESHES, ids=lambda mesh: "x".join(map(str, mesh.values())))
@pytest.mark.parametrize("name", HALOS)
def test_halos_are_the_elements_that_the_maps_read_elsewhere(name: str, mesh: dict[str, int]) -> None:
    module = hm.parse(f"HloModule m\n{HALOS[name]}")
    (parameter,) = module.entry.parameters
    n = 0
    for (spec,) in specs_of([tuple(parameter.shape.dimensions)], mesh, 11):
        plan = hm.shard(module, {parameter: spec}, mesh=mesh)
        if {move.why for move in plan.moves.records} == {"halo"}:
            found = hm.partitioned(plan.module[module.entry.root.name])
            assert isinstance(found, hm.results.Partitioned)
            assert plan.wire_bytes == max(int(sum(read.received[d] for read in found.reads)) for d in range(8)), spec
            n += 1
    assert n > 0
