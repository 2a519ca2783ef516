"""The maps of shardings, in both directions, against an enumeration of the tiles and against jax."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.jax_shardings import compare
from support.map_pairs import grid
from support.shardings import Drawn, map_pairs, random_sharding

import hlomap as hm

N_SHARDINGS = int(os.environ.get("HLOMAP_CASES", "150"))
SEED = int(os.environ.get("HLOMAP_SEED", "7"))


def parse(text: str) -> hm.hlo.Sharding:
    return hm.hlo.Sharding.parse(text)


def test_random_shardings_are_those_of_the_enumeration() -> None:
    rng = np.random.default_rng(SEED)
    for _ in range(N_SHARDINGS):
        drawn = random_sharding(rng)
        check(drawn)


def check(drawn: Drawn) -> None:
    sharding, shape = drawn.sharding, drawn.shape
    n = 1 if sharding.kind == "replicated" else None
    wanted = drawn.pairs()
    for maps, to_devices in (
        (sharding.device_map(shape, n), False),
        (sharding.owner_map(shape, n_devices=n), True),
    ):
        assert not maps.is_unknown and maps.exact == drawn.is_certain, f"{drawn}\n{maps!r}"
        found = map_pairs(maps, to_devices=to_devices)
        assert found.tolist() == wanted.tolist(), f"{drawn}\n{maps}"
    for device in drawn.position:
        local = sharding.local_shape(shape, device)
        assert local is not None and list(local.dimensions) == [len(r) for r in drawn.box(device)], drawn
    assert sharding.local_shape(shape, max(drawn.position) + 1) is None or sharding.kind == "replicated"
    first = sharding.local_shape(shape)
    assert first is not None
    boxes = [[len(r) for r in drawn.box(device)] for device in drawn.position]
    assert list(first.dimensions) == [-(-size // n) for size, n in zip(drawn.sizes, drawn.tiles, strict=True)]
    assert sharding.is_even(shape) == all(box == list(first.dimensions) for box in boxes), drawn


WHOLE = [
    "{replicated}",
    "{mesh[], replicated}",
    "{mesh[], [{}, {}]}",
    "{mesh[], [{?}, {}]}",
    "{mesh[], unreduced}",
    "{mesh['x'=8], replicated}",
    "{mesh['x'=2,'y'=4], [{?}, {}], replicated={'x'}}",
    "{mesh['x'=2,'y'=2], device_ids=(3,2,1,0), [{}, {}]}",
    "{mesh['x'=1], [{'x'}, {}]}",
    "{mesh['x'=1,'y'=2], [{'x'}, {}], manual={'x'}}",
    "{devices=[1,1,8]<=[8] last_tile_dim_replicate}",
    "{devices=[1,1,8,1]<=[8] last_tile_dims={replicated, manual}}",
]


@pytest.mark.parametrize("text", WHOLE)
def test_a_sharding_that_splits_nothing_is_on_every_device(text: str) -> None:
    shape = hm.Shape("f32", [5, 3])
    wanted = [[device, i, j] for device in range(8) for i in range(5) for j in range(3)]
    maps = parse(text).device_map(shape, 8)
    assert maps.exact and map_pairs(maps).tolist() == wanted
    assert map_pairs(parse(text).owner_map(shape, 8), to_devices=True).tolist() == wanted
    rows = parse("{devices=[8,1]<=[8]}")
    moved = hm.reshard(shape, parse(text), rows, n_devices=8)
    assert isinstance(moved, hm.results.Reshard) and moved.collective == "slice"


def test_one_device_is_not_every_device() -> None:
    for text in ("{maximal device=3}", "{maximal_mesh[device_id=3]}", "{devices=[1]3}", "{mesh[], device_ids=(3)}"):
        assert map_pairs(parse(text).device_map(hm.Shape("f32", [2]), 8)).tolist() == [[3, 0], [3, 1]]
    assert parse("{mesh[], device_ids=([1]), replicated}").device == 0
    with pytest.raises(hm.errors.ShapeError, match="divides 1 dimensions, the array has 2"):
        parse("{mesh[], [{}]}").device_map(hm.Shape("f32", [2, 2]), 8)


@pytest.mark.jax
def test_shardings_in_hlo_are_those_of_jax() -> None:
    pytest.importorskip("jax")
    n, n_whole, wrong = compare(np.random.default_rng(SEED), 5)
    assert n >= 160 and n_whole >= 20 and not wrong, "\n".join(wrong[:5])


CHILD = """
import json, sys
from jaxlib import _hlo
from jax._src.op_shardings import op_sharding_to_indices
for line in sys.stdin:
    text, sizes, n = json.loads(line)
    sharding = _hlo.HloSharding.from_string(text)
    if text.startswith("{mesh"):
        sharding = _hlo.HloSharding.v3_to_v2_sharding(sharding)
    found = op_sharding_to_indices(sharding, sizes, n)
    sides = [[[s.start or 0, n if s.stop is None else s.stop] for s, n in zip(box, sizes)] for box in found]
    print(json.dumps(sides))
"""


REFUSED = r"^.max|\]0[ }]|'(a\d)':\(1\)(\d+), ?'\1':\(\2\)"
"""What jax or XLA refuses: maximal shardings, one device, and neighbouring parts of one axis."""


@pytest.mark.jax
def test_random_shardings_are_those_of_jax() -> None:
    """jax takes sizes that the tiles divide, and all devices from 0 on."""
    pytest.importorskip("jax")
    rng = np.random.default_rng(SEED + 1)
    drawn: list[Drawn] = []
    while len(drawn) < N_SHARDINGS:
        one = random_sharding(rng, even=True, kinds=False)
        if sorted(one.position) == list(range(len(one.position))) and not re.search(REFUSED, one.text):
            drawn.append(one)
    lines = [json.dumps([one.text, one.sizes, len(one.position)]) for one in drawn]
    run = subprocess.run([sys.executable, "-c", CHILD], input="\n".join(lines), capture_output=True, text=True)
    answers = run.stdout.splitlines()
    assert len(answers) == len(drawn), f"{drawn[len(answers)]}\n{run.stderr[-1500:]}"
    for one, answer in zip(drawn, answers, strict=True):
        boxes = json.loads(answer)
        assert [[list(r) for r in one.box(d)] for d in range(len(boxes))] == [
            [list(range(*side)) for side in box] for box in boxes
        ], one
        check(one)


NAMED = """
import json, sys
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
devices = np.array(jax.devices())
for line in sys.stdin:
    mesh, order, spec, sizes = json.loads(line)
    mesh = Mesh(devices[np.array(order)].reshape(mesh), [f"a{k}" for k in range(len(mesh))])
    sharding = NamedSharding(mesh, PartitionSpec(*(tuple(axes) or None for axes in spec)))
    indices = sharding.devices_indices_map(tuple(sizes))
    # The program numbers devices by their place in the mesh.
    boxes = {order.index(d.id): [[s.start or 0, size if s.stop is None else s.stop] for s, size in zip(box, sizes)]
             for d, box in indices.items()}
    print(json.dumps([str(sharding._to_xla_hlo_sharding(len(sizes))), boxes]))
"""


@pytest.mark.jax
def test_named_shardings_of_jax() -> None:
    """The text that jax gives to XLA, against its own map from devices to indices."""
    pytest.importorskip("jax")
    rng = np.random.default_rng(SEED + 2)
    requests = []
    for _ in range(N_SHARDINGS):
        mesh = [int(k) for k in rng.choice([1, 2, 2, 3, 4], int(rng.integers(1, 4)))]
        mesh = mesh if np.prod(mesh) <= 12 else [2, 3, 2]
        rank = int(rng.integers(1, 5))
        spec: list[list[str]] = [[] for _ in range(rank)]
        for axis in rng.permutation(len(mesh)).tolist():
            if rng.random() < 0.7:
                spec[int(rng.integers(rank))].append(f"a{axis}")
        ways = [int(np.prod([mesh[int(name[1:])] for name in axes], dtype=np.int64)) for axes in spec]
        order = rng.permutation(int(np.prod(mesh))).tolist()
        requests.append([mesh, order, spec, [w * int(rng.integers(1, 4)) for w in ways]])
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=12", "JAX_PLATFORMS": "cpu"}
    lines = "\n".join(map(json.dumps, requests))
    run = subprocess.run([sys.executable, "-c", NAMED], input=lines, capture_output=True, text=True, env=environment)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(answers) == len(requests), run.stderr[-1500:]
    for (text, boxes), (_, _, _, sizes) in zip(answers, requests, strict=True):
        maps = parse(text).device_map(hm.Shape("f32", sizes), len(boxes))
        assert maps.exact
        wanted = []
        for device, box in boxes.items():
            wanted.append(grid([int(device)], *(range(*side) for side in box)))
        assert map_pairs(maps).tolist() == np.unique(np.concatenate(wanted), axis=0).tolist(), text
