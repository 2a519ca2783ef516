"""The maps of shardings, in both directions, against an enumeration of the tiles and against jax."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.shardings import Drawn, grid, map_pairs, random_sharding

import hlomap as hm

N_SHARDINGS = int(os.environ.get("HLOMAP_CASES", "300"))
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
        (sharding.owner_map(shape, num_devices=n), True),
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
"""Jax or XLA refuses these: maximal shardings, one device, and neighbouring parts of one axis."""


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


@pytest.mark.parametrize(
    ("text", "sizes", "device_map", "owner_map"),
    [
        (
            "{devices=[2,4]<=[8]}",
            [10, 12],
            "(device, l0, l1) -> ((device floordiv 4) * 5 + l0, (device mod 4) * 3 + l1), "
            "domain: device in [0, 7], l0 in [0, 4], l1 in [0, 2]",
            "(d0, d1) -> ((d0 floordiv 5) * 4 + d1 floordiv 3), domain: d0 in [0, 9], d1 in [0, 11]",
        ),
        (
            "{devices=[4,2]<=[2,4]T(1,0)}",
            [8, 12],
            "(device, l0, l1) -> ((device mod 4) * 2 + l0, (device floordiv 4) * 6 + l1), "
            "domain: device in [0, 7], l0 in [0, 1], l1 in [0, 5]",
            "(d0, d1) -> (d0 floordiv 2 + (d1 floordiv 6) * 4), domain: d0 in [0, 7], d1 in [0, 11]",
        ),
        (
            "{devices=[4]<=[4]}",
            [7],
            "(device, l0) -> (device * 2 + l0), domain: device in [0, 3], l0 in [0, 1], device * 2 + l0 in [0, 6]",
            "(d0) -> (d0 floordiv 2), domain: d0 in [0, 6]",
        ),
        (
            "{devices=[4]0,1,3,2}",
            [8],
            "(device, l0) -> (device * 2 + l0), domain: device in [0, 1], l0 in [0, 1]\n"
            "(device, l0) -> (device * -2 + l0 + 10), domain: device in [2, 3], l0 in [0, 1]",
            "(d0) -> (d0 floordiv 2), domain: d0 in [0, 3]\n(d0) -> (-(d0 floordiv 2) + 5), domain: d0 in [4, 7]",
        ),
        (
            "{mesh['x'=2,'y'=4], [{'y':(2)2}, {'x', ?}], replicated={'y':(1)2}}",
            [6, 4],
            "(device, l0, l1) -> ((device mod 2) * 3 + l0, (device floordiv 4) * 2 + l1), "
            "domain: device in [0, 7], l0 in [0, 2], l1 in [0, 1]",
            "(d0, d1)[s0] -> (d0 floordiv 3 + (d1 floordiv 2) * 4 + s0 * 2), "
            "domain: d0 in [0, 5], d1 in [0, 3], s0 in [0, 1]",
        ),
        (
            "{replicated}",
            [3],
            "(device, l0) -> (l0), domain: device in [0, 2147483647], l0 in [0, 2]",
            "(d0)[s0] -> (s0), domain: d0 in [0, 2], s0 in [0, 2147483647]",
        ),
        ("{maximal device=3}", [], "(device) -> (), domain: device in [3, 3]", "() -> (3)"),
        ("{devices=[4]<=[4]}", [0], "EMPTY", "EMPTY"),
    ],
)
def test_forms(text: str, sizes: list[int], device_map: str, owner_map: str) -> None:
    shape = hm.Shape("f32", sizes)
    assert str(parse(text).device_map(shape)) == device_map
    assert str(parse(text).owner_map(shape)) == owner_map


def test_kinds_without_plain_replicas() -> None:
    shape = hm.Shape("f32", [4])
    assert parse("{unknown}").device_map(shape).reason == "the sharding is not decided yet"
    partial = "each device holds a partial result of every element (unreduced)"
    for text, reason in [
        ("{manual}", "devices have arrays of their own (manual)"),
        ("{devices=[2,2]<=[4] last_tile_dims={unreduced}}", partial),
        ("{mesh['x'=2,'y'=2], [{'y'}], unreduced=max{'x'}}", partial),
        ("{mesh['x'=2,'y'=2], manual}", "devices have arrays of their own (manual)"),
        ("{mesh['x'=2,'y'=2], [{'y'}], manual={'x'}}", "devices have arrays of their own (manual)"),
    ]:
        found = parse(text).device_map(shape, 4)
        assert not found.exact and found.reason == reason and len(found) == 1
    random = np.random.default_rng(1).permutation(256).tolist()
    table = parse(f"{{devices=[256]{','.join(map(str, random))}}}").owner_map(hm.Shape("f32", [256]))
    assert table.exact and table.reason is not None and "no affine form: a table of" in table.reason
    many = parse(f"{{devices=[{1 << 18}]{','.join(map(str, np.random.default_rng(1).permutation(1 << 18).tolist()))}}}")
    assert many.device_map(hm.Shape("f32", [1 << 20])).is_unknown


def test_maps_compose_with_layouts() -> None:
    """The device and the byte position of every element, and the element at every byte position of a device."""
    sharding, shape = parse("{devices=[2,2]<=[2,2]T(1,0)}"), hm.Shape.parse("f32[6,8]{0,1}")
    local = sharding.local_shape(shape)
    assert local is not None and str(local) == "f32[3,4]{0,1}"
    there = sharding.device_map(shape)[0].then(hm.linear_index(shape)).simplify()
    for device in range(4):
        position = hm.linear_index(shape).evaluate([device % 2 * 3 + 1, device // 2 * 4 + 2])
        assert there.evaluate([device, 1, 2]) == position
    module = hm.parse("ENTRY e { p = f32[8,6] parameter(0) ROOT t = f32[6,8] transpose(p), dimensions={1,0} }")
    assert str(sharding.device_map(shape).then(hm.output_to_input(module["t"])[0])) == (
        "(device, l0, l1) -> ((device floordiv 2) * 4 + l1, (device mod 2) * 3 + l0), "
        "domain: device in [0, 3], l0 in [0, 2], l1 in [0, 3]"
    )


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("{devices=[2,4]<=[8]}", "f32[8]", "divides 2 dimensions, the array has 1"),
        ("{devices=[2,4]<=[4]}", "f32[8,8]", "has 8 tiles, but 4 devices"),
        ("{devices=[2]3,3}", "f32[8]", "a device is listed twice"),
        ("{devices=[2]-1,3}", "f32[8]", "a device has a negative number"),
        ("{devices=[0]<=[0]}", "f32[8]", "a dimension has no tile"),
        ("{devices=[4]<=[2,2]T(1,1)}", "f32[8]", "the iota has inconsistent sizes"),
        ("{mesh['x'=4], [{'x'}, {'x':(1)2}]}", "f32[8,8]", "parts of an axis overlap or do not divide it"),
        ("{mesh['x'=4], [{'x':(1)3}]}", "f32[8]", "parts of an axis overlap or do not divide it"),
        ("{mesh['x'=4], device_ids=(0,1,2), [{'x'}]}", "f32[8]", "the mesh and its devices differ in number"),
        ("{{replicated}}", "(f32[8])", "is for a tuple: take the sharding of one array"),
        ("{replicated}", "(f32[8])", "a sharding divides an array with bounded dimensions"),
        ("{replicated}", "f32[?]", "a sharding divides an array with bounded dimensions"),
    ],
)
def test_what_does_not_fit(text: str, shape: str, message: str) -> None:
    for call in ("device_map", "owner_map", "local_shape", "is_even"):
        with pytest.raises(hm.errors.ShapeError, match=re.escape(message)):
            getattr(parse(text), call)(hm.Shape.parse(shape))


def test_extreme_sizes() -> None:
    """Nothing is listed that is not needed."""
    n = 1 << 40
    huge = parse(f"{{devices=[{n},2]<=[2,{n}]T(1,0)}}")
    assert huge.device_map(hm.Shape("s8", [1 << 60, 2]))[0].evaluate([n + 5, 0, 0]).tolist() == [5 << 20, 1]
    assert huge.owner_map(hm.Shape("s8", [1 << 60, 2]))[0].evaluate([5 << 20, 1]).tolist() == [n + 5]
    assert parse("{replicated}").owner_map(hm.Shape("s8", [1 << 60]), 1 << 50).exact
    for bad in (0, -1, 1 << 63):
        with pytest.raises(hm.errors.ShapeError, match="expected `num_devices` from 1"):
            parse("{replicated}").device_map(hm.Shape("s8", [4]), bad)
