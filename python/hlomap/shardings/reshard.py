"""Elements that must move between devices to change the sharding of an array.

:class:`Reshard` is the answer of ``hm.reshard`` for one pair of shardings.  A device receives each element that it
needs and does not hold once; the named collective moves exactly these bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

from .._core import Mesh, Shape, Sharding
from ..base.answers import Unknown
from ..base.lazy import np
from ..base.text import one_line, plural
from ..base.types import json_fields, read_only
from ..errors import ShapeError, SizeError, UnsupportedError
from ..maps.enumerate_pairs import unravel_points
from .assignment import Assignment, assign
from .meshes import least_seconds, mesh_positions, read_links
from .moves import CollectiveKind, Pairs, Placements, measure, to_bytes, wire_bytes
from .orders import Ints, place_values
from .tiles import Flags, Tiles, all_devices, n_common, overlap, rank_within

_MAX_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False)
class Reshard:
    """The least communication that takes an array from one sharding to another."""

    shape: Shape
    source: Sharding
    target: Sharding
    collective: str
    """The single step that changes the sharding: ``"nothing"``, ``"slice"`` (each device keeps a part of its elements),
    ``"all-gather"``, ``"all-to-all"`` or ``"collective-permute"`` (each perhaps after a slice); else ``"several"``."""
    wire_bytes: int
    """The least bytes that the busiest device sends in this collective; a lower bound for ``"several"``."""
    groups: Ints | None
    """``[group, position]``: the devices of each group of the collective, or (source, target) pairs of a permutation;
    ``None`` for ``"nothing"``, ``"slice"`` and ``"several"``."""
    devices: Ints
    """The devices of the target, in ascending order."""
    received: Ints
    """The bytes that each of ``devices`` receives."""
    seconds: float | None
    """With ``links``, a lower bound of the time."""
    _held: Tiles = field(repr=False)
    _needed: Tiles = field(repr=False)
    _mesh: Mesh | None = field(repr=False)

    @property
    def wire_bytes_all_devices(self) -> int:
        """The bytes that all devices together send, and receive."""
        return sum(self.received.tolist())

    @property
    def exact(self) -> bool:
        """Whether ``wire_bytes`` is the exact number, not a lower bound."""
        return self.collective != "several"

    @property
    def reason(self) -> str | None:
        """Why ``wire_bytes`` is a lower bound; ``None`` if it is exact."""
        return None if self.exact else "no single collective changes the sharding"

    @property
    def group_size(self) -> int | None:
        """The number of devices in a group; ``None`` if there are no groups."""
        return None if self.groups is None else self.groups.shape[1]

    @property
    def axes(self) -> tuple[str, ...] | None:
        """The axes of the mesh along which the devices of a group differ; ``None`` without groups in a mesh."""
        if self._mesh is None or self.groups is None or not set(self._mesh.devices).issuperset(self.groups.flat):
            return None
        at = mesh_positions(self._mesh, self.groups)
        differs = (at != at[:, :1]).any(axis=(0, 1))
        return tuple(name for name, differ in zip(self._mesh.axes, differs.tolist(), strict=True) if differ)

    @cached_property
    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Senders, receivers and bytes of each transfer between two devices, in the order of the receivers.

        If several replicas hold the elements that a device needs, the one in its group of the collective sends them.
        Raises :class:`~hlomap.errors.UnsupportedError` for more than 2**22 pairs.
        """
        if self.groups is not None and self.collective != "collective-permute":
            n_groups, size = self.groups.shape
            _check_number(n_groups * size * size)
            senders = np.tile(self.groups, (1, size)).reshape(-1)
            receivers = np.repeat(self.groups, size, axis=1).reshape(-1)
        elif self.wire_bytes_all_devices:
            senders, receivers = _holders(self._held, self._needed, self.collective == "collective-permute")
        else:
            senders = receivers = np.zeros(0, np.int64)
        at, to = self._held.rows_of(senders)[0], self._needed.rows_of(receivers)[0]
        sent = to_bytes(n_common(self._held, at, self._needed, to), self.shape.element_bits)
        order = np.lexsort((senders, receivers))
        order = order[(sent[order] > 0) & (senders[order] != receivers[order])]
        return read_only(senders[order]), read_only(receivers[order]), read_only(sent[order])

    def to_dict(self) -> dict[str, Any]:
        """The fields for JSON, without the bytes of pairs of devices."""
        bytes_and_time = "wire_bytes wire_bytes_all_devices exact reason devices received seconds"
        return json_fields(self, "shape source target collective groups axes", bytes_and_time)

    def __str__(self) -> str:
        lines = [f"{self.collective}: {self.shape.without_layout()} from {self.source} to {self.target}"]
        if self.wire_bytes_all_devices:
            least = "" if self.exact else "at least "
            lines.append(f"  {least}{self.wire_bytes:,} wire bytes, {self.wire_bytes_all_devices:,} over all devices")
        if self.groups is not None:
            along = f" along {', '.join(map(repr, self.axes))}" if self.axes else ""
            of = f"{plural(len(self.groups), 'group')} of {self.group_size} devices"
            lines.append(f"  {of}{along}: {_listed(self.groups)}")
        if self.seconds is not None:
            lines.append(f"  at least {self.seconds:.3g} s")
        return "\n".join(lines)


def reshard_one(
    shape: Shape,
    source: Sharding,
    target: Sharding,
    n_devices: int | None,
    mesh: Mesh | None,
    links: Mapping[str, float] | None,
) -> Reshard | Unknown:
    """The answer for one array and two shardings; see :func:`~hlomap.shardings.reshards.reshard`."""
    try:
        before, after = (assign_known(sharding, shape, n_devices or 1) for sharding in (source, target))
        if n_devices is None:
            n = 1 + max(before.last_device, after.last_device)
            before = assign_known(source, shape, n) if may_be_on_all(before) else before
            after = assign_known(target, shape, n) if may_be_on_all(after) else after
        if after.n_replicas > most_replicas(shape):
            raise SizeError(f"the bits of {one_line(str(shape))} on all devices do not fit in 64 bits")
        held, needed = Tiles.of(before), Tiles.of(after)
    except UnsupportedError as error:
        return Unknown(str(error))
    first, sizes = np.zeros(1, np.int64), np.array([shape.dimensions or (1,)], np.int64)
    found = measure(Pairs(Placements([held]), first, Placements([needed]), first, sizes))
    collective, bits = str(CollectiveKind(found.collectives[0])), shape.element_bits
    received = to_bytes(found.missing[0].astype(np.int64), bits)
    groups = _groups(collective, held, needed, received > 0, found.gathered[0].tolist()[: shape.rank])
    mesh = mesh or source.mesh or target.mesh
    speeds = read_links(links, mesh, all_devices(held.devices, needed.devices))
    seconds = None if speeds is None or mesh is None else least_seconds(held, needed, received, mesh, speeds)
    arrays = (None if groups is None else read_only(groups), read_only(needed.devices), read_only(received))
    wire = int(wire_bytes(found.shares, np.array([bits]))[0])
    return Reshard(shape, source, target, collective, wire, *arrays, seconds, held, needed, mesh)


def assign_known(sharding: Sharding, shape: Shape, n_devices: int) -> Assignment:
    """The tiles of a sharding whose devices hold the actual elements.

    Raises :class:`~hlomap.errors.UnsupportedError` for others, and :class:`~hlomap.errors.ShapeError` if it does not
    fit the shape.
    """
    found = assign(sharding, shape, n_devices)
    reason = found.reason if isinstance(found, Unknown) else found.uncertain
    if isinstance(found, Unknown) or reason is not None:
        raise UnsupportedError(f"the moves are not known for {one_line(str(sharding))}: {reason}")
    return found


def may_be_on_all(assignment: Assignment) -> bool:
    """Whether the array may be on all devices, since nothing is split."""
    return prod(assignment.tiles) == 1


def most_replicas(shape: Shape) -> int:
    """The most replicas of an array whose bits together fit in 63 bits."""
    return ((1 << 63) - 1) // max(1, shape.n_elements * shape.element_bits)


def reason_of(shape: Shape, source: Sharding, target: Sharding, n_devices: int | None) -> str:
    """The reason why a pair has no answer."""
    try:
        found = reshard_one(shape, source, target, n_devices, None, None)
    except (ShapeError, SizeError) as error:
        return str(error)
    assert isinstance(found, Unknown)
    return found.reason


# --------------------------------------------------------------------------------------------------------- the groups


def _groups(collective: str, held: Tiles, needed: Tiles, lacks: Flags, gathered: list[int]) -> Ints | None:
    """The groups of a collective; a permutation has its pairs as groups."""
    if collective == "collective-permute":
        senders, receivers = _holders(held, needed, True)
        return np.stack([senders, receivers], axis=1)[np.isin(receivers, needed.devices[lacks])]
    if collective == "all-gather":  # one device for each tile needs the same tile
        same = held.numbers * needed.assignment.n_devices + needed.numbers
        order = np.lexsort((held.numbers, rank_within(same), needed.numbers))
    elif collective == "all-to-all":
        block = (held.positions // gathered) @ np.array(place_values(held.assignment.tiles), np.int64)
        order = np.lexsort((held.numbers, rank_within(held.numbers), block))
    else:
        return None
    return held.devices[order].reshape(-1, prod(gathered))


# ------------------------------------------------------------------------------------------------------------- pairs


def _holders(held: Tiles, needed: Tiles, is_permutation: bool) -> tuple[Ints, Ints]:
    """For each device that lacks elements, and each tile that it needs, a device that holds the tile."""
    n_replicas = held.assignment.n_replicas
    by_tile = held.devices[np.argsort(held.numbers, kind="stable")].reshape(-1, n_replicas)
    rows, has_row = held.rows_of(needed.devices)
    lacks = needed.n_elements > overlap(held, needed)
    lacking = needed.devices[lacks]
    if is_permutation:
        tiles = _tile_of(held.assignment, needed)[lacks]
        return by_tile[tiles, rank_within(tiles)], lacking
    rank = np.where(has_row, rank_within(held.numbers)[rows], np.arange(len(needed.devices)))[lacks] % n_replicas
    own = np.where(has_row, held.numbers[rows], -1)[lacks]
    low, high = (side[lacks] for side in needed.bounds)
    s = np.maximum(np.array(held.assignment.tile_sizes, np.int64), 1)
    first, last = low // s, (high - 1) // s
    extents = (last - first).max(axis=0, initial=0) + 1
    _check_number(prod(extents.tolist()) * len(lacking))
    steps = unravel_points(np.arange(prod(extents.tolist())), extents.tolist())
    at = first[:, None, :] + steps
    inside = (at <= last[:, None, :]).all(axis=2)
    tiles = at @ np.array(place_values(held.assignment.tiles), np.int64)
    inside &= tiles != own[:, None]
    receiver = np.broadcast_to(lacking[:, None], tiles.shape)[inside]
    return by_tile[tiles[inside], np.broadcast_to(rank[:, None], tiles.shape)[inside]], receiver


def _tile_of(held: Assignment, needed: Tiles) -> Ints:
    """The number of the tile of ``held`` that has the first element of each device's tile."""
    s = np.maximum(np.array(held.tile_sizes, np.int64), 1)
    most = np.array(held.tiles, np.int64) - 1
    return np.minimum(needed.bounds[0] // s, most) @ np.array(place_values(held.tiles), np.int64)


def _check_number(n: int) -> None:
    if n > _MAX_PAIRS:
        raise UnsupportedError(f"up to {n} pairs of devices; at most {_MAX_PAIRS} are listed")


def _listed(groups: Ints) -> str:
    shown = ",".join("{" + ",".join(map(str, group)) + "}" for group in groups[:4].tolist())
    return one_line(shown, 60) + (",…" if len(groups) > 4 else "")
