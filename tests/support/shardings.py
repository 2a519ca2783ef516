"""Random shardings, and which element lies where by enumeration, independent of the package.

:func:`random_sharding` writes the text of a sharding and enumerates its tiles with NumPy: the tile coordinates of each
device.  :func:`pairs` are the (device, element) pairs of an array with such tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

import hlomap as hm
from support.map_pairs import grid, points


@dataclass
class Drawn:
    """A sharding with the position of the tile of each device along each dimension."""

    text: str
    sizes: tuple[int, ...]
    tiles: tuple[int, ...]
    position: dict[int, tuple[int, ...]]
    is_certain: bool = True

    @property
    def sharding(self) -> hm.hlo.Sharding:
        return hm.hlo.Sharding.parse(self.text)

    @property
    def shape(self) -> hm.Shape:
        return hm.Shape("f32", self.sizes)

    def box(self, device: int) -> list[range]:
        """The elements of a device along each dimension."""
        found = []
        for size, n, c in zip(self.sizes, self.tiles, self.position[device], strict=True):
            s = -(-size // n)
            found.append(range(min(c * s, size), min((c + 1) * s, size)))
        return found

    def pairs(self) -> np.ndarray:
        """A row for each device and element that it holds, sorted."""
        return np.unique(np.concatenate([grid([device], *self.box(device)) for device in self.position]), axis=0)


def map_pairs(maps: hm.MapSet, *, to_devices: bool = False) -> np.ndarray:
    """The (device, element) pairs of a device map or an owner map, each point of each map once."""
    rows = []
    for m in maps:
        at, found = points(m)
        if len(at):
            rows.append(np.concatenate([found, at] if to_devices else [at[:, :1], found], axis=1))
    n = sum(map(len, rows))
    if n == 0:
        return np.zeros((0, 0), np.int64)
    unique = np.unique(np.concatenate(rows), axis=0)
    assert len(unique) == n, "a pair occurs twice"
    return unique


# ------------------------------------------------------------------------------------------------------------- random


def random_sizes(rng: np.random.Generator, rank: int, tiles: list[int], even: bool) -> tuple[int, ...]:
    if even:
        return tuple(int(rng.integers(1, 4)) * n for n in tiles[:rank])
    return tuple(int(rng.integers(0 if rng.random() < 0.05 else 1, 12)) for _ in range(rank))


def factors(rng: np.random.Generator, n: int, count: int) -> list[int]:
    """``n`` as a product of ``count`` numbers."""
    found = [1] * count
    for p in (2, 3, 5, 7):
        while n % p == 0:
            n //= p
            found[int(rng.integers(count))] *= p
    return found


def random_sharding(rng: np.random.Generator, *, even: bool = False, kinds: bool = True) -> Drawn:
    """A sharding of any form; ``kinds`` with subgroups that hold no plain replicas."""
    kind = rng.choice(
        ["iota", "list", "strided list", "named", "replicated", "maximal"], p=[0.3, 0.2, 0.1, 0.34, 0.03, 0.03]
    )
    rank = int(rng.integers(0, 5))
    n = int(rng.choice([1, 2, 4, 6, 8, 12, 16, 24]))
    if kind == "replicated":
        sizes = random_sizes(rng, rank, [1] * rank, even)
        return Drawn("{replicated}", sizes, (1,) * rank, {0: (0,) * rank})
    if kind == "maximal":
        sizes, device = random_sizes(rng, rank, [1] * rank, even), int(rng.integers(9))
        word = f"maximal device={device}" if rng.random() < 0.7 else f"maximal_mesh[device_id={device}]"
        return Drawn(f"{{{word}}}", sizes, (1,) * rank, {device: (0,) * rank})
    if kind == "named":
        return _random_named(rng, rank, n, even, kinds)
    return _random_tiled(rng, kind, rank, n, even, kinds)


def _random_order(rng: np.random.Generator, n: int) -> tuple[str, np.ndarray]:
    """``[…]T(…)`` and its numbers."""
    reshape = [k for k in factors(rng, n, int(rng.integers(1, 4))) if k > 1 or rng.random() < 0.2] or [1]
    order = rng.permutation(len(reshape)).tolist()
    numbers = np.arange(n).reshape(reshape).transpose(order).reshape(-1)
    suffix = "" if len(order) == 1 else f"T({','.join(map(str, order))})"
    return f"[{','.join(map(str, reshape))}]{suffix}", numbers


def _random_tiled(rng: np.random.Generator, kind: str, rank: int, n: int, even: bool, kinds: bool) -> Drawn:
    n_last = int(rng.choice([0, 1, 1, 2])) if rank else 1
    dims = factors(rng, n, rank + n_last)
    words: list[str] = []
    suffix, is_certain = "", True
    if n_last:
        if n_last == 1 and rng.random() < 0.5:
            words, suffix = ["replicated"], " last_tile_dim_replicate"
        else:
            choices = ["replicated", "manual", "unreduced"] if kinds else ["replicated"]
            words = [str(rng.choice(choices)) for _ in range(n_last)]
            suffix = f" last_tile_dims={{{', '.join(words)}}}"
        is_certain = all(word == "replicated" or k == 1 for word, k in zip(words, dims[rank:], strict=True))
    if kind == "iota":
        text, numbers = _random_order(rng, n)
        text = f"<={text}"
    else:
        numbers = rng.permutation(n) if kind == "list" else _random_order(rng, n)[1]
        if rng.random() < 0.3:
            numbers = rng.permutation(2 * n)[:n] if kind == "list" else numbers * int(rng.integers(1, 4))
            numbers = numbers + int(rng.integers(3))
        text = ",".join(map(str, numbers.tolist()))
    at = np.stack(np.unravel_index(np.arange(n), dims), axis=1).tolist()
    position = {int(d): tuple(t[:rank]) for d, t in zip(numbers, at, strict=True)}
    sizes = random_sizes(rng, rank, dims, even)
    full = f"{{devices=[{','.join(map(str, dims))}]{text}{suffix}}}"
    return Drawn(full, sizes, tuple(dims[:rank]), position, is_certain)


def _random_named(rng: np.random.Generator, rank: int, n: int, even: bool, kinds: bool) -> Drawn:
    sizes = [k for k in factors(rng, n, int(rng.integers(1, 4))) if k > 1 or rng.random() < 0.2] or [1]
    names = [f"a{k}" for k in range(len(sizes))]
    # The parts of axes: each as (text, size), and the positions along them by index into the mesh.
    parts: list[tuple[str, int, np.ndarray]] = []
    index = np.unravel_index(np.arange(n), sizes)
    for axis, (name, size) in enumerate(zip(names, sizes, strict=True)):
        divisors = [k for k in range(2, size) if size % k == 0]
        if divisors and rng.random() < 0.4:
            first = int(rng.choice(divisors))
            parts.append((f"'{name}':(1){first}", first, index[axis] // (size // first)))
            parts.append((f"'{name}':({first}){size // first}", size // first, index[axis] % (size // first)))
        else:
            parts.append((f"'{name}'", size, index[axis]))
    rng.shuffle(parts)  # type: ignore[arg-type]
    by_dim: list[list[tuple[str, int, np.ndarray]]] = [[] for _ in range(rank)]
    left, is_certain = [], True
    lists: dict[str, list[str]] = {"replicated": [], "unreduced": [], "manual": []}
    for part in parts:
        target = rng.random()
        if rank and target < 0.65:
            by_dim[int(rng.integers(rank))].append(part)
        elif target < 0.75:
            lists["replicated"].append(part[0])
        elif kinds and target < 0.85:
            lists[str(rng.choice(["unreduced", "manual"]))].append(part[0])
            is_certain &= part[1] == 1
        else:
            left.append(part)
    order, numbers = "", np.arange(n)
    if rng.random() < 0.5:
        if rng.random() < 0.5:
            numbers = rng.permutation(n)
            order = f", device_ids=({','.join(map(str, numbers.tolist()))})"
        else:
            text, numbers = _random_order(rng, n)
            order = f", device_ids=({text})"
    tiles = tuple(prod(part[1] for part in own) for own in by_dim)
    places = np.zeros((n, rank), np.int64)
    for d, own in enumerate(by_dim):
        for _, size, along in own:
            places[:, d] = places[:, d] * size + along
    position = dict(zip(numbers.tolist(), map(tuple, places.tolist()), strict=True))
    dims = ", ".join(
        "{" + ", ".join([part[0] for part in own] + (["?"] if rng.random() < 0.2 else [])) + "}" for own in by_dim
    )
    if numbers.tolist() == list(range(n)):
        order = ""
    mesh = ",".join(f"'{name}'={size}" for name, size in zip(names, sizes, strict=True))
    extra = "".join(f", {word}={{{','.join(sorted(axes))}}}" for word, axes in lists.items() if axes)
    text = f"{{mesh[{mesh}]{order}, [{dims}]{extra}}}"
    return Drawn(text, random_sizes(rng, rank, list(tiles), even), tiles, position, is_certain)
