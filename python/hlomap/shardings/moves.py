"""Collectives and bytes of many changes of sharding at once.

:func:`measure` is the entry point: :class:`Pairs` of placements, with sizes of arrays, become :class:`Moves`.  All
numbers of a tile are products over dimensions, or sums of digits.  So each distinct *side* (the positions of both
placements along a dimension, and its size) is computed once, and a pair takes one row of a table for each dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from ..base.lazy import np
from .orders import Ints, place_values
from .tiles import Flags, Tiles, all_devices, rank_within, rows_among


class CollectiveKind(IntEnum):
    """The single step that changes a sharding, as the number in :attr:`Moves.collectives`."""

    NOTHING = 0
    SLICE = 1
    ALL_GATHER = 2
    ALL_TO_ALL = 3
    COLLECTIVE_PERMUTE = 4
    SEVERAL = 5

    def __str__(self) -> str:
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, eq=False)
class Moves:
    """The communication of each of many pairs, in elements."""

    collectives: Ints
    """The number of the :class:`CollectiveKind`."""
    shares: tuple[tuple[Ints, Ints], tuple[Ints, Ints]]
    """Numerators and denominators of two numbers of elements: the busiest device sends at least the larger, and exactly
    that unless the change takes several collectives."""
    missing: Ints
    """``[pair, device]``: the elements that each device of the target receives."""
    total: Ints
    """The sums of ``missing`` over devices."""
    gathered: Ints
    """``[pair, dimension]``: the tiles of the source in one of the target, at least 1."""


class Placements:
    """The tiles of several shardings on the same devices, a row for each sharding."""

    devices: Ints
    numbers: Ints
    n_replicas: Ints
    places: Ints
    sides: Ints
    positions: Ints
    n_tiles: Ints

    def __init__(self, tiles: Sequence[Tiles]) -> None:
        assignments = [one.assignment for one in tiles]
        n, rank = len(tiles[0].devices), max(1, len(assignments[0].tiles))
        self.devices = tiles[0].devices
        self.numbers = np.stack([one.numbers for one in tiles])
        self.n_replicas = np.array([one.n_replicas for one in assignments], np.int64)
        self.places = np.array([place_values(one.tiles or (1,)) for one in assignments], np.int64)
        self.sides = np.zeros((len(tiles), rank), np.int64)
        """``[placement, dimension]``: the row of ``positions``."""
        rows: dict[bytes, int] = {}
        distinct: list[Ints] = []
        for k, one in enumerate(tiles):
            columns = np.ascontiguousarray(one.positions.T) if one.positions.shape[1] else np.zeros((1, n), np.int64)
            for dim, column in enumerate(columns):
                self.sides[k, dim] = rows.setdefault(column.tobytes(), len(rows))
                if len(rows) > len(distinct):
                    distinct.append(column)
        self.positions = np.stack(distinct)
        self.n_tiles = self.positions.max(axis=1) + 1

    @cached_property
    def ranks(self) -> Ints:
        """``[placement, device]``: the number of earlier devices with the same tile."""
        return np.stack([rank_within(numbers) for numbers in self.numbers])


class Pairs:
    """Pairs of placements, ``at`` of one and ``to`` of the other, for arrays of ``sizes``, ``[pair, dimension]``.

    The elements of each array on all devices of the target fit in 63 bits.
    """

    held: Placements
    at: Ints
    needed: Placements
    to: Ints
    sides: _Sides
    side_at: Ints

    def __init__(self, held: Placements, at: Ints, needed: Placements, to: Ints, sizes: Ints) -> None:
        self.held, self.at, self.needed, self.to, self._sizes = held, at, needed, to, sizes
        # Without `return_index` np.unique imports np.ma.
        values, _, size_at = np.unique(sizes, return_index=True, return_inverse=True)
        n_needed, n_values = len(needed.positions), len(values)
        key = (held.sides[at] * n_needed + needed.sides[to]) * n_values + size_at.reshape(sizes.shape)
        distinct, _, numbers = np.unique(key, return_index=True, return_inverse=True)
        of_placements, of_size = np.divmod(distinct, n_values)
        # Multiplying numbers of half the size is several times as fast.
        most = max(int(sizes.prod(axis=1).max(initial=0)), int(sizes.max(initial=0))) + self.n_devices
        dtype = np.int32 if most < 1 << 31 else np.int64
        self.sides = _Sides(held, needed, *np.divmod(of_placements, n_needed), values[of_size], dtype)
        self.side_at = numbers.reshape(key.shape)
        """``[pair, dimension]``: the row of the tables of ``sides``."""

    def __len__(self) -> int:
        return len(self.at)

    @property
    def n_devices(self) -> int:
        """The columns of the largest table."""
        return max(len(self.held.devices), len(self.needed.devices))

    @property
    def n_sides(self) -> int:
        return len(self.sides.size)

    def part(self, rows: Ints | slice) -> Pairs:
        """Some of the pairs, with the same sides."""
        found = copy(self)
        found.at, found.to, found.side_at = self.at[rows], self.to[rows], self.side_at[rows]
        return found

    def alone(self, rows: slice) -> Pairs:
        """Some of the pairs, with only their own sides."""
        return Pairs(self.held, self.at[rows], self.needed, self.to[rows], self._sizes[rows])

    def product(self, table: Ints, rows: Ints | slice = slice(None)) -> Ints:
        """``[pair, device]``: the products of the rows of a table."""
        at = self.side_at[rows]
        found: Ints = table[at[:, 0]]
        for dim in range(1, at.shape[1]):
            found *= table[at[:, dim]]
        return found

    def number(self, table: Ints, places: Ints, rows: Ints) -> Ints:
        """``[pair, device]``: the numbers whose digits are rows of a table; ``places`` are ``[pair, dimension]``."""
        at = self.side_at[rows]
        places = places.astype(table.dtype)
        found: Ints = table[at[:, 0]] * places[:, :1]
        for dim in range(1, at.shape[1]):
            found += table[at[:, dim]] * places[:, dim, None]
        return found


class _Sides:
    """The distinct sides of pairs.  Tables are ``[side, device of the target]`` unless documented otherwise."""

    held_at: Ints
    needed_at: Ints
    size: Ints
    fits: Flags
    to_needed: Ints
    has_needed: Flags
    to_held: Ints
    has_held: Flags

    def __init__(
        self, held: Placements, needed: Placements, held_at: Ints, needed_at: Ints, sizes: Ints, dtype: type
    ) -> None:
        self._held, self._needed, self.held_at, self.needed_at = held, needed, held_at, needed_at
        self.size, self._dtype = sizes[:, None], dtype
        """``[side, 1]``."""
        self._n_held, self._n_needed = held.n_tiles[held_at][:, None], needed.n_tiles[needed_at][:, None]
        self._held_size, self._needed_size = _divide_up(self.size, self._n_held), _divide_up(self.size, self._n_needed)
        ratio, inverse = self._n_held // self._n_needed, self._n_needed // self._n_held
        is_gathered = (self._n_held % self._n_needed == 0) & (self._needed_size == self._held_size * ratio)
        is_split = (self._n_needed % self._n_held == 0) & (self._held_size == self._needed_size * inverse)
        self._is_split = is_split & ~is_gathered
        self._split = np.where(self._is_split, inverse, 1)
        self._gathered = np.where(is_gathered, ratio, 1)
        self.fits = (is_gathered | is_split)[:, 0]
        """``[side]``: whether tiles of one placement consist of whole tiles of the other."""
        self.to_needed, self.has_needed = rows_among(held.devices, needed.devices)
        self.to_held, self.has_held = rows_among(needed.devices, held.devices)

    @property
    def gathered(self) -> Ints:
        """``[side]``: the tiles of the source in one of the target, at least 1."""
        return self._gathered[:, 0]

    @property
    def tile_sizes(self) -> tuple[Ints, Ints]:
        """``[side]``: the sizes of a whole tile of the source and of the target."""
        return self._held_size[:, 0], self._needed_size[:, 0]

    @cached_property
    def _held_bounds(self) -> tuple[Ints, Ints]:
        low, high = _bounds(self._held.positions[self.held_at], self._held_size, self.size)
        return low.astype(self._dtype), high.astype(self._dtype)

    @cached_property
    def _needed_bounds(self) -> tuple[Ints, Ints]:
        low, high = _bounds(self._needed.positions[self.needed_at], self._needed_size, self.size)
        return low.astype(self._dtype), high.astype(self._dtype)

    @cached_property
    def held_length(self) -> Ints:
        """``[side, device of the source]``: the length of the device's tile."""
        low, high = self._held_bounds
        return high - low

    @cached_property
    def needed_length(self) -> Ints:
        low, high = self._needed_bounds
        return high - low

    @cached_property
    def common(self) -> Ints:
        """The length of the part of its new tile that the device already has."""
        low, high = (side[:, self.to_needed] for side in self._held_bounds)
        needed_low, needed_high = self._needed_bounds
        return np.asarray(np.maximum(np.minimum(high, needed_high) - np.maximum(low, needed_low), 0) * self.has_needed)

    @cached_property
    def whole_length(self) -> Ints:
        """The length of the old tile if the dimension is not split, else 1."""
        return np.where(self._is_split, 1, self.held_length[:, self.to_needed])

    @cached_property
    def split_length(self) -> Ints:
        """The length of the new tile if the dimension is split, else 1."""
        return np.where(self._is_split, self.needed_length, 1)

    @cached_property
    def first_tile(self) -> Ints:
        """The position of the tile of the source with the first element of the device's new tile."""
        found = np.minimum(self._needed_bounds[0] // np.maximum(self._held_size, 1), self._n_held - 1)
        return np.asarray(found.astype(self._dtype))

    @cached_property
    def _in_blocks(self) -> tuple[Ints, Ints]:
        block, digit = np.divmod(self._held.positions[self.held_at][:, self.to_needed], self._gathered)
        return block.astype(self._dtype), digit.astype(self._dtype)

    @property
    def block(self) -> Ints:
        """The position of the block of the device's old tile."""
        return self._in_blocks[0]

    @property
    def digit(self) -> Ints:
        """The position of the device's old tile in its block."""
        return self._in_blocks[1]

    @cached_property
    def blocks_agree(self) -> Flags:
        """``[side]``: whether the new tile of each device is in the block of its old tile."""
        return np.asarray((self.block == self._needed.positions[self.needed_at] // self._split).all(axis=1))


def measure(pairs: Pairs) -> Moves:
    """The communication of each pair."""
    sides, held, needed, at, to = pairs.sides, pairs.held, pairs.needed, pairs.at, pairs.to
    wanted = pairs.product(sides.needed_length)
    overlap = pairs.product(sides.common)
    missing = wanted - overlap
    total = missing.sum(axis=1, dtype=np.int64)
    gathered = sides.gathered[pairs.side_at]
    group_size = gathered.prod(axis=1)
    fits = sides.fits[pairs.side_at].all(axis=1) & (total > 0)
    n_held, n_needed = held.n_replicas[at], needed.n_replicas[to]
    names = np.where(total > 0, CollectiveKind.SEVERAL, CollectiveKind.SLICE)
    most, share, n_sharing = np.zeros_like(total), np.zeros_like(total), np.ones_like(total)

    rows = np.flatnonzero(total == 0)
    if len(rows) and len(held.devices) == len(needed.devices):
        rows = rows[(pairs.product(sides.held_length, rows) == wanted[rows]).all(axis=1)]
        names[rows] = CollectiveKind.NOTHING

    rows = np.flatnonzero(fits & (group_size == 1))
    if len(rows):
        # In a permutation each device that lacks its tile receives it from a holder, and no device sends twice.
        tile = pairs.number(sides.first_tile, held.places[at[rows]], rows)
        asked = _sum_by(tile, missing[rows] > 0, len(held.devices))
        rows = rows[asked.max(axis=1) <= n_held[rows]]
        names[rows], most[rows] = CollectiveKind.COLLECTIVE_PERMUTE, missing[rows].max(axis=1)

    rows = np.flatnonzero(fits & (group_size > 1))
    if len(rows) and np.array_equal(held.devices, needed.devices):
        # A block is a tile of the source along split dimensions, and a tile of the target along gathered ones.
        rows = rows[sides.blocks_agree[pairs.side_at[rows]].all(axis=1)]
        names[rows] = CollectiveKind.ALL_TO_ALL
        # In an all-gather, equally many holders of each tile of a block need each tile of the target in the block.
        rows = rows[n_needed[rows] % group_size[rows] == 0]
        digits = pairs.number(sides.digit, _place_values(gathered[rows]), rows)
        alike = _sum_by(needed.numbers[to[rows]] * group_size[rows, None] + digits, None, len(needed.devices))
        rows = rows[alike.max(axis=1) * group_size[rows] == n_needed[rows]]
        # Devices forward what they receive, so all send equally much; if tiles are uneven, the first block is the
        # largest.
        names[rows], n_sharing[rows] = CollectiveKind.ALL_GATHER, group_size[rows]
        share[rows] = (group_size[rows] - 1) * wanted[rows].max(axis=1)
        rows = np.flatnonzero(names == CollectiveKind.ALL_TO_ALL)
        most[rows] = _most_sent(pairs, rows)

    rows = np.flatnonzero(names == CollectiveKind.SEVERAL)
    if len(rows):
        # At best all devices share the sending evenly, and the holders of a tile share what leaves them.
        most[rows] = _most_leaving(pairs, rows, overlap[rows], n_needed[rows] > n_held[rows])
        share[rows], n_sharing[rows] = total[rows], len(all_devices(held.devices, needed.devices))
    n_sending = np.where(names == CollectiveKind.SEVERAL, n_held, 1)
    return Moves(names, ((most, n_sending), (share, n_sharing)), missing, total, gathered)


def wire_bytes(shares: tuple[tuple[Ints, Ints], tuple[Ints, Ints]], bits: Ints) -> Ints:
    """The larger of two numbers of elements, each a numerator and a denominator, in whole bytes."""
    (a, of_a), (b, of_b) = shares
    return np.maximum(_divide_up(a * bits, 8 * of_a), _divide_up(b * bits, 8 * of_b))


def _most_sent(pairs: Pairs, rows: Ints) -> Ints:
    """The most elements that a device sends in an all-to-all.

    Device u holds a part of the tile that device v of its group needs.  The size of this part is the product of the
    lengths of u's tile along gathered and unchanged dimensions and of v's tile along split dimensions.
    """
    sides, held, at = pairs.sides, pairs.held, pairs.at[rows]
    own, theirs = pairs.product(sides.whole_length, rows), pairs.product(sides.split_length, rows)
    groups = pairs.number(sides.block, held.places[at], rows) * held.n_replicas[at][:, None] + held.ranks[at]
    of_group = np.take_along_axis(_sum_by(groups, theirs, len(held.devices)), groups, axis=1)
    return np.asarray((own * (of_group - theirs)).max(axis=1))


def _most_leaving(pairs: Pairs, rows: Ints, overlap: Ints, is_more: Flags) -> Ints:
    """A lower bound of the most elements of a tile that its holders together have to send.

    If the target has more replicas than the source, each element is needed by a device that does not hold it; else
    holders send at least the elements that none of them needs.
    """
    sides, held = pairs.sides, pairs.held
    found = np.asarray(sides.tile_sizes[0][pairs.side_at[rows]].prod(axis=1))
    left = np.flatnonzero(~is_more)
    numbers = held.numbers[pairs.at[rows[left]]]
    kept = _sum_by(numbers, overlap[left][:, sides.to_held] * sides.has_held, len(held.devices))
    leaving = pairs.product(sides.held_length, rows[left]) - np.take_along_axis(kept, numbers, axis=1)
    found[left] = leaving.max(axis=1)
    return found


def _bounds(positions: Ints, tile_size: Ints, size: Ints) -> tuple[Ints, Ints]:
    return np.minimum(positions * tile_size, size), np.minimum((positions + 1) * tile_size, size)


def to_bytes(n_elements: Ints, bits: Ints | int) -> Ints:
    """The bytes of elements with so many bits, rounded up."""
    return _divide_up(n_elements * bits, 8) if np.any(bits % 8) else n_elements * (bits // 8)


def _divide_up(a: Ints, b: Ints | int) -> Ints:
    return -(-a // b)


def _place_values(sizes: Ints) -> Ints:
    """``[pair, dimension]``: the place values of the dimensions in a row-major number."""
    after = np.concatenate([sizes[:, 1:], np.ones((len(sizes), 1), np.int64)], axis=1)
    return np.cumprod(after[:, ::-1], axis=1)[:, ::-1]


def _sum_by(keys: Ints, values: Ints | Flags | None, n: int) -> Ints:
    """``[row, key]``: in each row the sum, or the number of true values, for each of ``n`` keys.

    Without values the result counts how often each key occurs.
    """
    flat = keys + np.arange(len(keys))[:, None] * n
    if values is None or values.dtype == np.bool_:
        found = np.bincount(flat.reshape(-1) if values is None else flat[values], minlength=len(keys) * n)
    else:
        found = np.zeros(len(keys) * n, np.int64)
        np.add.at(found, flat.reshape(-1), values.reshape(-1).astype(np.int64))
    return found.reshape(len(keys), n)
