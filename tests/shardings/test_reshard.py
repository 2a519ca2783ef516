"""The moves of reshard, against an enumeration of elements; its collectives, by running them on the parts.

Wire bytes are compared with numbers counted by hand, and many pairs at once with one call for each.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
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


def some_shardings(n: int, rng: np.random.Generator) -> list[Drawn]:
    """Shardings of rank 3 on eight devices, most of which are on all of them."""
    found: list[Drawn] = []
    while len(found) < n:
        one = random_sharding(rng, kinds=False)
        is_rank = len(one.sizes) == 3 and max(one.position) < N_DEVICES
        if is_rank and (len(one.position) == N_DEVICES or rng.random() < 0.1):
            is_whole = set(one.position.values()) == {(0, 0, 0)}
            if one.text == "{replicated}" or (is_whole and one.text.startswith("{mesh")):
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
            found = hm.reshard(hm.Shape("bf16", sizes), a.sharding, b.sharding, n_devices=N_DEVICES)
            names[found.collective] = names.get(found.collective, 0) + 1
            context = f"{found}\n{sizes}"
            lacking = (after & ~before).reshape(N_DEVICES, -1).sum(axis=1)
            assert found.devices.tolist() == sorted(b.position), context
            assert (found.received == 2 * lacking[found.devices]).all(), context
            assert found.wire_bytes_all_devices == 2 * lacking.sum(), context
            check_pairs(found, before, after, len({*a.position, *b.position}), context)
            if found.groups is not None:
                run_collective(found, before, after, context)
            elif found.collective != "several":
                assert not lacking.any(), context
            if found.collective == "nothing":
                assert (before == after).all(), context
    assert set(names) == {"nothing", "slice", "all-gather", "all-to-all", "collective-permute", "several"}, names


def check_pairs(found: Any, before: np.ndarray, after: np.ndarray, n_devices: int, context: str) -> None:
    """Each element that a device lacks comes from one device, which has it; wire bytes are those of the busiest."""
    arrived, sent_by = before.astype(np.int64), np.zeros(N_DEVICES, np.int64)
    for sender, receiver, n in zip(*(x.tolist() for x in found.pairs), strict=True):
        sent = before[sender] & after[receiver]
        assert 2 * sent.sum() == n > 0 and sender != receiver, context
        arrived[receiver] += sent
        sent_by[sender] += n
    assert (arrived[after] == 1).all(), context
    # Where devices forward what they get, the busiest may send less than it does alone, and no less than the average.
    assert -(-found.wire_bytes_all_devices // n_devices) <= found.wire_bytes <= sent_by.max(), context
    if found.collective in ("all-to-all", "collective-permute", "nothing", "slice"):
        assert found.wire_bytes == sent_by.max(), context


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
    moved = hm.execute(hm.parse(text), pieces, n_replicas=len(pieces))
    sizes = {int((before[u] & after[v]).sum()) for group in groups for u in group for v in group[-1:]}
    if sizes == {n} and name != "all-to-all":  # nothing is padded; the program has elements of twice as many bytes
        assert hm.collectives(hm.parse(text))[0].wire_bytes == 2 * found.wire_bytes, context
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


ROWS, COLUMNS, TWICE = "{devices=[8,1]<=[8]}", "{devices=[1,8]<=[8]}", "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"
WIRE_BYTES = [
    # An all-gather sends (n-1)/n of what its group assembles: 7/8 of 16,384 bytes, 3/4 of 8,192.
    ("f32[64,64]", ROWS, "{replicated}", "all-gather", 14_336, 8 * 14_336),
    ("f32[64,64]", ROWS, TWICE, "all-gather", 6_144, 8 * 6_144),
    # Parts of 2, 2, 2 and 1 elements: half of 16 bytes in the first group, of 12 in the second.
    ("f32[7]", "{devices=[4]<=[4]}", "{devices=[2,2]<=[4] last_tile_dim_replicate}", "all-gather", 8, 16 + 12),
    # Three elements of four bits to each of two devices.
    ("s4[6]{0:E(4)}", "{devices=[2]<=[2]}", "{replicated}", "all-gather", 2, 4),
    # An all-to-all sends (n-1)/n of a part: 7/8 of 2,048 bytes.
    ("f32[64,64]", ROWS, COLUMNS, "all-to-all", 1_792, 8 * 1_792),
    # Rows of 2, 2, 2, 1 and columns of 4, 3 become rows of 4, 3 and columns of 2, 2, 2, 1: at most 2 by 2 is sent.
    ("f32[7,7]", "{devices=[4,2]<=[8]}", "{devices=[2,4]<=[2,2,2]T(0,2,1)}", "all-to-all", 16, 96),
    # A permutation sends the part, where it goes to another device.
    ("f32[64,64]", ROWS, "{devices=[8,1]1,2,3,4,5,6,7,0}", "collective-permute", 2_048, 8 * 2_048),
    ("f32[64,64]", ROWS, "{devices=[8,1]1,0,2,3,4,5,6,7}", "collective-permute", 2_048, 2 * 2_048),
    ("f32[64,64]", "{maximal device=0}", "{maximal device=5}", "collective-permute", 16_384, 16_384),
    ("f32[64,64]", ROWS, ROWS, "nothing", 0, 0),
    ("f32[64,64]", TWICE, ROWS, "slice", 0, 0),
    ("f32[0,64]", ROWS, COLUMNS, "nothing", 0, 0),
    # One device has everything: it sends each byte once at least, which others may forward.
    ("f32[16]", "{maximal device=0}", "{devices=[1,4]<=[4] last_tile_dim_replicate}", "several", 64, 3 * 64),
    ("f32[16]", "{maximal device=0}", "{devices=[4]<=[4]}", "several", 48, 48),
    # Parts of 3 and 2 are no equal parts of 5: the first device sends 3 elements, and half of all would be less.
    ("f32[5]", "{devices=[2]<=[2]}", "{replicated}", "several", 12, 8 + 12),
    # Devices 1, 2, 5 and 6 of 8 keep none of their 8 elements; 48 elements are received.
    ("f32[8,8]", "{devices=[2,4]<=[8]}", "{devices=[4,2]<=[8]}", "several", 32, 192),
]


@pytest.mark.parametrize(("shape", "source", "target", "collective", "wire", "total"), WIRE_BYTES)
def test_wire_bytes(shape: str, source: str, target: str, collective: str, wire: int, total: int) -> None:
    before, after = (hm.hlo.Sharding.parse(text) for text in (source, target))
    found = hm.reshard(hm.Shape.parse(shape), before, after)
    assert isinstance(found, hm.results.Reshard)
    assert (found.collective, found.wire_bytes, found.wire_bytes_all_devices) == (collective, wire, total)
    least = "at least " if collective == "several" else ""
    assert (f"  {least}{wire:,} wire bytes, {total:,} over all devices" in str(found).splitlines()) == (total > 0)
    assert found.exact == (collective != "several") == (found.reason is None)
    fields = found.to_dict()
    assert (fields["collective"], fields["wire_bytes"], sum(fields["received"])) == (collective, wire, total)
    assert json.loads(json.dumps(fields)) == fields and fields["target"] == target


ODD = [
    *("{manual}", "{unknown}", "{unreduced}", "{replicated}", "{maximal device=2}", "{mesh[], replicated}"),
    *("{maximal device=9223372036854775807}", "{devices=[5000000]<=[5000000]}", "{{replicated}}"),
]


def test_many_pairs_are_as_one_by_one() -> None:
    """Every column, and the reasons, of random pairs of all ranks: shardings of all forms, uneven and empty arrays."""
    rng = np.random.default_rng(SEED)
    drawn = [random_sharding(rng, kinds=rng.random() < 0.3) for _ in range(6 * N_SHARDINGS)]
    odd = [hm.hlo.Sharding.parse(text) for text in ODD]
    pairs = []
    for rank in range(5):
        shardings = [one.sharding for one in drawn if len(one.sizes) == rank] + odd
        for _ in range(8 * N_SHARDINGS):
            sizes = [int(rng.choice([0, 1, 3, 7, 8, 12, 24, 96], p=[0.02, *[0.14] * 7])) for _ in range(rank)]
            layout = f"{{{','.join(map(str, range(rank)))}:E(4)}}"
            text = str(rng.choice(["f32", "bf16", "s4", "c128"])) + f"[{','.join(map(str, sizes))}]"
            shape = hm.Shape.parse(text + layout if text.startswith("s4") else text)
            pairs.append((shape, *(shardings[int(rng.integers(len(shardings)))] for _ in range(2))))
    shapes = ["(f32[2], f32[3])", "f32[?]", "f32[<=8]", "token[]", f"f32[{1 << 57}]", f"f32[{1 << 61},0]"]
    rows, whole = hm.hlo.Sharding.parse("{devices=[4]<=[4]}"), hm.hlo.Sharding.parse("{replicated}")
    pairs += [(hm.Shape.parse(text), rows, whole) for text in shapes]
    for n in (None, 8):
        compare_with_single_calls(pairs, n_devices=n)


MESHES = {
    "mesh['x'=2,'y'=4]": ["[{'x'},{'y'}]", "[{'y','x'},{}]", "[{'y':(1)2},{'x'}]"],
    "mesh['y'=2,'x'=2,'z'=2]": ["[{'x'},{'y','z'}]", "[{},{'z'}]", "[{'z','y'},{}]"],
}
UNNAMED = ["{devices=[4,2]<=[8]}", "{devices=[4,2]<=[4,2]T(1,0)}", "{devices=[8,1]3,1,2,0,4,7,5,6}", "{replicated}"]


@pytest.mark.parametrize("mesh", MESHES)
def test_many_pairs_with_links_are_as_one_by_one(mesh: str) -> None:
    """Also where the tiles do not follow the mesh; times are those of ``least_seconds``, to the last bit."""
    shardings = [hm.hlo.Sharding.parse(f"{{{mesh}, {text}}}") for text in MESHES[mesh]]
    shardings += [hm.hlo.Sharding.parse(text) for text in UNNAMED]
    shapes = [hm.Shape(dtype, sizes) for dtype, sizes in (("f32", [8, 16]), ("bf16", [7, 9]), ("c64", [3, 48]))]
    links = {axis: 1e9 * k for k, axis in enumerate(hm.hlo.Mesh.parse(mesh).axes, 1)}
    pairs = list(product(shapes, shardings, shardings))
    compare_with_single_calls(pairs, mesh=hm.hlo.Mesh.parse(mesh), links=links)
    named = [(shape, a, b) for shape, a, b in pairs if a.mesh or b.mesh]
    compare_with_single_calls(named, links=links)


def compare_with_single_calls(pairs: list[tuple[hm.Shape, hm.hlo.Sharding, hm.hlo.Sharding]], **options: Any) -> None:
    shapes, sources, targets = map(list, zip(*pairs, strict=True))
    found = hm.reshard(shapes, sources, targets, **options)
    assert len(found) == len(pairs)
    for k, pair in enumerate(pairs):
        try:
            one = hm.reshard(*pair, **options)
        except (hm.errors.ShapeError, hm.errors.SizeError) as error:
            one = hm.Unknown(str(error).removeprefix("hm.reshard: "))
        bytes_of = (found.wire_bytes[k], found.wire_bytes_all_devices[k])
        if isinstance(one, hm.Unknown):
            assert (found.unknown[k], found.collective[k], found[k]) == (one.reason, "unknown", one), pair
            assert np.isnan(bytes_of).all() and not found.exact[k], pair
        else:
            assert k not in found.unknown, pair
            assert (found.collective[k], *bytes_of) == (one.collective, one.wire_bytes, one.wire_bytes_all_devices), (
                pair
            )
            assert found.exact[k] == one.exact and str(found[k]) == str(one), pair
            assert found.seconds is None if one.seconds is None else found.seconds[k] == one.seconds, pair


def test_many_pairs_in_one_call() -> None:
    shape, rows, columns = hm.Shape("f32", [64, 64]), *map(hm.hlo.Sharding.parse, (ROWS, COLUMNS))
    found = hm.reshard([shape] * 3, rows, (columns, rows, hm.hlo.Sharding.parse("{manual}")))
    assert repr(found) == "<Reshards of 3 pairs, 1 unknown>" and str(found).startswith(
        "3 pairs: 1 nothing, 1 all-to-all"
    )
    assert found.to_dict() == {
        "collective": ["all-to-all", "nothing", "unknown"],
        "exact": [True, True, False],
        "wire_bytes": [1_792.0, 0.0, None],
        "wire_bytes_all_devices": [14_336.0, 0.0, None],
        "unknown": {2: "the moves are not known for {manual}: each device has a separate array (manual)"},
    }
    assert list(found.to_pandas()) == found.to_arrow().column_names == [*found.to_dict()][:-1]
    assert [isinstance(one, hm.Unknown) for one in found] == [False, False, True] and len(found[-2:]) == 2
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict() and str(again[0]) == str(found[0])
    empty = hm.reshard(shape, [], [])
    assert len(empty) == 0 and str(empty) == "0 pairs" and empty.to_pandas().empty
    with pytest.raises(hm.errors.ShapeError, match="sequences of one length, got 1 and 2"):
        hm.reshard(shape, [rows], [rows, columns])
    with pytest.raises(TypeError, match=r"expected a Sharding or a sequence of them, got str .*as an item"):
        hm.reshard(shape, [rows, "{replicated}"], rows)  # type: ignore[list-item]
    with pytest.raises(hm.errors.ShapeError, match="links need a mesh"):
        hm.reshard(shape, [rows], columns, links={"x": 1.0})


def test_work_grows_with_the_shardings_not_with_the_pairs() -> None:
    shardings = [hm.hlo.Sharding.parse(text) for text in (ROWS, COLUMNS, TWICE, "{replicated}")]
    shapes = [hm.Shape("f32", [64, 8 * k]) for k in range(1, 26)]

    def n_calls(times: int) -> int:
        sources, targets = map(list, zip(*product(shardings, shardings), strict=True))
        count = 0

        def profile(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in {"call", "c_call"}

        given = ([shape for shape in shapes for _ in sources] * times, sources * 25 * times, targets * 25 * times)
        sys.setprofile(profile)
        try:
            hm.reshard(*given)
        finally:
            sys.setprofile(None)
        return count

    n_calls(1)
    assert n_calls(10) < 1.1 * n_calls(1)
