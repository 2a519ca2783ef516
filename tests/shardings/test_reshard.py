"""The moves of reshard, against an enumeration of elements; its collectives, by running them on the parts."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import numpy as np
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
