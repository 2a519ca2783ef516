"""The moves of reshard, against an enumeration of elements; its collectives, by running them on the parts."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.shardings import Drawn, random_sharding

import hlomap as hm

N_SHARDINGS = int(os.environ.get("HLOMAP_CASES", "16"))
SEED = int(os.environ.get("HLOMAP_SEED", "7"))
SIZES = [(8, 16, 8), (7, 9, 5), (24, 3, 4)]
N_DEVICES = 8


def parse(text: str) -> hm.hlo.Sharding:
    return hm.hlo.Sharding.parse(text)


def some_shardings(n: int, rng: np.random.Generator) -> list[Drawn]:
    """Shardings of rank 3 on eight devices, most of which are on all of them."""
    found: list[Drawn] = []
    while len(found) < n:
        one = random_sharding(rng, kinds=False)
        is_rank = len(one.sizes) == 3 and max(one.position) < N_DEVICES
        if is_rank and (len(one.position) == N_DEVICES or rng.random() < 0.1):
            if one.text == "{replicated}":
                one.position = dict.fromkeys(range(N_DEVICES), (0, 0, 0))
            found.append(one)
    return found


def holds(drawn: Drawn, sizes: tuple[int, ...]) -> np.ndarray:
    """A bool array [device, element...]."""
    found = np.zeros((N_DEVICES, *sizes), np.bool_)
    drawn.sizes = sizes
    for device in drawn.position:
        found[device][np.ix_(*drawn.box(device))] = True
    return found


def test_all_pairs_of_shardings() -> None:
    rng = np.random.default_rng(SEED)
    drawn = some_shardings(N_SHARDINGS, rng)
    names: dict[str, int] = {}
    for sizes in SIZES:
        parts = [holds(one, sizes) for one in drawn]
        for (a, before), (b, after) in product(zip(drawn, parts, strict=True), repeat=2):
            found = hm.reshard(hm.Shape("bf16", sizes), a.sharding, b.sharding, num_devices=N_DEVICES)
            names[found.collective] = names.get(found.collective, 0) + 1
            context = f"{found}\n{sizes}"
            lacking = (after & ~before).reshape(N_DEVICES, -1).sum(axis=1)
            assert found.devices.tolist() == sorted(b.position), context
            assert (found.received == 2 * lacking[found.devices]).all() and found.bytes == 2 * lacking.sum(), context
            check_pairs(found, before, after, context)
            if found.groups is not None:
                run_collective(found, before, after, context)
            elif found.collective != "several":
                assert not lacking.any(), context
            if found.collective == "nothing":
                assert (before == after).all(), context
    assert set(names) == {"nothing", "slice", "all-gather", "all-to-all", "collective-permute", "several"}, names


def check_pairs(found: Any, before: np.ndarray, after: np.ndarray, context: str) -> None:
    """Each element that a device lacks comes from one device, which has it."""
    arrived = before.astype(np.int64)
    for sender, receiver, n in zip(*(x.tolist() for x in found.pairs), strict=True):
        sent = before[sender] & after[receiver]
        assert 2 * sent.sum() == n > 0 and sender != receiver, context
        arrived[receiver] += sent
    assert (arrived[after] == 1).all(), context


def run_collective(found: Any, before: np.ndarray, after: np.ndarray, context: str) -> None:
    """Each device cuts the pieces that others need of its part, the collective moves them, all get what they need."""
    groups, name = found.groups.tolist(), found.collective
    value = np.arange(before[0].size, dtype=np.float32).reshape(before[0].shape) + 1
    result = np.where(before & after, value, 0)
    n = max(int((before[u] & after[v]).sum()) for group in groups for u in group for v in group)
    taking_part = sorted({device for group in groups for device in group})
    text, pieces = write_collective(name, [[taking_part.index(d) for d in group] for group in groups], n), []
    for device in taking_part:
        if name == "collective-permute":
            receivers = [group[1] for group in groups if group[0] == device] or [device]
        else:
            receivers = next(group for group in groups if device in group)
        cut = [value[before[device] & after[v]] for v in receivers]
        cut = [np.pad(piece, (0, n - len(piece)))[:n] for piece in cut]
        if name == "all-gather":
            assert all((piece == cut[0]).all() for piece in cut), context
        pieces.append(np.stack(cut if name == "all-to-all" else cut[:1]).astype(np.float32))
    moved = hm.execute(hm.parse(text), pieces, num_replicas=len(pieces))
    moved = dict(zip(taking_part, moved, strict=True)) if len(pieces) > 1 else {}
    for group in groups:
        for v in group[1:] if name == "collective-permute" else group:
            for row, u in zip(moved[v], group, strict=False):
                piece = before[u] & after[v]
                result[v][piece] = row[: piece.sum()]
    assert (result == np.where(after, value, 0)).all(), context


def write_collective(name: str, groups: list[list[int]], n: int) -> str:
    listed = "{" + ",".join("{" + ",".join(map(str, group)) + "}" for group in groups) + "}"
    size = len(groups[0])
    n_in, n_out = {"all-gather": (1, size), "all-to-all": (size, size), "collective-permute": (1, 1)}[name]
    how = f"replica_groups={listed}, dimensions={{0}}"
    if name == "collective-permute":
        how = f"source_target_pairs={listed}"
    return f"ENTRY e {{ p = f32[{n_in},{n}] parameter(0) ROOT r = f32[{n_out},{n}] {name}(p), {how} }}"


ROWS = "{devices=[4,1]<=[4]}"
ROW_HALVES = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"
COLUMN_HALVES = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"


@pytest.mark.parametrize(
    ("source", "target", "collective", "groups", "bytes_per_device"),
    [
        (ROWS, "{devices=[1,4]<=[4]}", "all-to-all", [[0, 1, 2, 3]], 48 * 4),
        (ROWS, "{replicated}", "all-gather", [[0, 1, 2, 3]], 192 * 4),
        ("{devices=[2,2]<=[4]}", "{devices=[2,2]<=[2,2]T(1,0)}", "collective-permute", [[2, 1], [1, 2]], 64 * 4),
        ("{replicated}", ROWS, "slice", None, 0),
        (ROWS, "{devices=[4,1]0,1,2,3}", "nothing", None, 0),
        ("{maximal device=1}", "{maximal device=6}", "collective-permute", [[1, 6]], 256 * 4),
        ("{devices=[3,1]<=[3]}", "{devices=[2,1]<=[2]}", "several", None, 5 * 16 * 4),
        # Each device first cuts the columns that it needs: only those travel.
        (ROW_HALVES, COLUMN_HALVES, "all-gather", [[0, 2], [1, 3]], 64 * 4),
    ],
)
def test_collectives(source: str, target: str, collective: str, groups: Any, bytes_per_device: int) -> None:
    found = hm.reshard(hm.Shape("f32", [16, 16]), parse(source), parse(target))
    assert found.collective == collective
    assert (None if found.groups is None else found.groups.tolist()) == groups
    if collective != "several":
        assert found.bytes_per_device == bytes_per_device


def test_axes_and_time() -> None:
    mesh = "mesh['x'=2,'y'=4]"
    shape = hm.Shape("f32", [64, 64])
    source = parse(f"{{{mesh}, [{{'x'}}, {{'y'}}]}}")
    links = {"x": 1e9, "y": 2e9}
    along_y = hm.reshard(shape, source, parse(f"{{{mesh}, [{{'x'}}, {{}}]}}"), links=links)
    assert along_y.axes == ("y",) and along_y.bytes_per_device == 32 * 48 * 4
    assert along_y.seconds == pytest.approx(32 * 48 * 4 / 2e9)
    along_x = hm.reshard(shape, source, parse(f"{{{mesh}, [{{}}, {{'y'}}]}}"), links=links)
    # The other half of each column block must come into a half of the mesh, whose four devices have one link each.
    assert along_x.axes == ("x",) and along_x.seconds == pytest.approx(32 * 64 * 4 / 4e9)
    assert hm.reshard(shape, source, source, links=links).seconds == 0
    everywhere = hm.reshard(shape, source, parse("{replicated}"), mesh=hm.hlo.Mesh.parse(mesh), links=links)
    assert everywhere.seconds == pytest.approx(max(7 * 512 * 4 / 3e9, 32 * 64 * 4 / 4e9, 64 * 48 * 4 / 4e9))


def test_what_is_refused() -> None:
    shape, whole = hm.Shape("f32", [8]), parse("{replicated}")
    mesh = hm.hlo.Mesh.parse("mesh['x'=2]")
    for text, message in [("{unknown}", "not decided"), ("{manual}", "manual"), ("{unreduced}", "unreduced")]:
        found = hm.reshard(shape, parse(text), whole, num_devices=2)
        assert isinstance(found, hm.Unknown) and message in found.reason
    with pytest.raises(hm.errors.ShapeError, match="give `mesh`"):
        hm.reshard(shape, whole, whole, links={"x": 1})
    with pytest.raises(hm.errors.NotFoundError, match="differ in 'y'"):
        hm.reshard(shape, whole, whole, mesh=mesh, links={"x": 1, "y": 1})
    with pytest.raises(hm.errors.ShapeError, match="device 2 is not in the mesh"):
        hm.reshard(shape, parse("{maximal device=2}"), parse("{maximal device=2}"), mesh=mesh, links={"x": 1})
    with pytest.raises(hm.errors.ShapeError, match="positive number of bytes per second"):
        hm.reshard(shape, parse("{maximal device=0}"), parse("{maximal device=1}"), mesh=mesh, links={"x": 0})
    huge = parse(f"{{devices=[{1 << 40}]<=[{1 << 40}]}}")
    found = hm.reshard(hm.Shape("s8", [1 << 40]), huge, huge)
    assert isinstance(found, hm.Unknown) and "devices; at most" in found.reason


def test_sizes_of_zero_and_scalars() -> None:
    empty = hm.reshard(hm.Shape("f32", [0, 4]), parse("{devices=[2,2]<=[4]}"), parse("{devices=[4,1]<=[4]}"))
    assert empty.bytes == 0 and [len(x) for x in empty.pairs] == [0, 0, 0]
    scalar = hm.reshard(hm.Shape("f32", []), parse("{maximal device=2}"), parse("{replicated}"), num_devices=4)
    assert scalar.received.tolist() == [4, 4, 0, 4] and scalar.collective == "several"
    assert [x.tolist() for x in scalar.pairs] == [[2, 2, 2], [0, 1, 3], [4, 4, 4]]
