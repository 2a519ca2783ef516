"""Elements that must move between devices to change the sharding of an array.

:func:`reshard` is the entry point, :class:`Reshard` its answer.  Laws: a device receives what it needs and does not
hold, once; the named collective moves these bytes and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from .._core import Mesh, Shape, Sharding
from ..answers import Unknown
from ..errors import SizeError, UnsupportedError
from ..lazy import np
from ..maps.enumerate_pairs import unravel_points
from ..text import one_line, plural
from ..types import expect, read_only
from .assignment import Assignment, assign
from .device_maps import read_count
from .meshes import least_seconds, mesh_positions, read_links
from .orders import Ints, place_values
from .tiles import Tiles, n_common, overlap, rank_within

_MAX_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False)
class Reshard:
    """The least communication that takes an array from one sharding to another."""

    shape: Shape
    source: Sharding
    target: Sharding
    collective: str
    """The single step that does it: ``"nothing"``, ``"slice"`` (each device keeps a part of what it has),
    ``"all-gather"``, ``"all-to-all"`` or ``"collective-permute"``, these three perhaps of a slice of what a device has;
    else ``"several"``."""
    groups: Ints | None
    """``[group, position]``: the devices of each group of the collective, (source, target) of a permutation; ``None``
    for ``"nothing"``, ``"slice"`` and ``"several"``."""
    devices: Ints
    """The devices of the target, in ascending order."""
    received: Ints
    """The bytes that each of ``devices`` receives."""
    seconds: float | None
    """With ``links``, what it takes at least."""
    _held: Tiles = field(repr=False)
    _needed: Tiles = field(repr=False)
    _mesh: Mesh | None = field(repr=False)

    @property
    def bytes(self) -> int:
        """The bytes that move in all."""
        return sum(self.received.tolist())

    @property
    def bytes_per_device(self) -> int:
        """The most that a device receives."""
        return int(self.received.max(initial=0))

    @property
    def group_size(self) -> int | None:
        """The number of devices in a group; ``None`` where there are no groups."""
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
        """Senders, receivers and bytes, where a device sends to another one; receivers ascend.

        Where replicas hold what a device needs, one of them sends it: the one in its group of the collective.  Raises
        :class:`~hlomap.errors.UnsupportedError` for more than 2**22 pairs.
        """
        if self.groups is not None and self.collective != "collective-permute":
            n_groups, size = self.groups.shape
            _check_number(n_groups * size * size)
            senders = np.tile(self.groups, (1, size)).reshape(-1)
            receivers = np.repeat(self.groups, size, axis=1).reshape(-1)
        elif self.bytes:
            senders, receivers = _holders(self._held, self._needed, self.collective == "collective-permute")
        else:
            senders = receivers = np.zeros(0, np.int64)
        at, to = self._held.rows_of(senders)[0], self._needed.rows_of(receivers)[0]
        sent = _to_bytes(n_common(self._held, at, self._needed, to), self.shape)
        order = np.lexsort((senders, receivers))
        order = order[(sent[order] > 0) & (senders[order] != receivers[order])]
        return read_only(senders[order]), read_only(receivers[order]), read_only(sent[order])

    def __str__(self) -> str:
        lines = [f"{self.collective}: {self.shape.without_layout()} from {self.source} to {self.target}"]
        if self.bytes:
            lines.append(f"  {self.bytes:,} bytes in all, at most {self.bytes_per_device:,} to a device")
        if self.groups is not None:
            along = f" along {', '.join(map(repr, self.axes))}" if self.axes else ""
            of = f"{plural(len(self.groups), 'group')} of {self.group_size} devices"
            lines.append(f"  {of}{along}: {_listed(self.groups)}")
        if self.seconds is not None:
            lines.append(f"  at least {self.seconds:.3g} s")
        return "\n".join(lines)


def reshard(
    shape: Shape,
    /,
    source: Sharding,
    target: Sharding,
    *,
    num_devices: int | None = None,
    mesh: Mesh | None = None,
    links: Mapping[str, float] | None = None,
) -> Reshard | Unknown:
    """The bytes that must move from the sharding ``source`` of an array to ``target``, and the least collective.

    ``num_devices`` is the number of devices of a replicated sharding, by default as many as the other one has.
    ``links`` gives for each axis of the mesh the bytes per second that a device receives along it, from devices that
    differ from it in this axis alone; then ``.seconds`` is a lower bound of the time.  ``mesh`` is by default that of
    a named sharding.

    The answer is ``Unknown`` for parts that are summands, manual or not decided.  Raises
    :class:`~hlomap.errors.ShapeError` where a sharding does not fit the shape or ``links`` not the mesh.

    >>> by_rows = hm.hlo.Sharding.parse("{devices=[8,1]<=[8]}")
    >>> by_columns = hm.hlo.Sharding.parse("{devices=[1,8]<=[8]}")
    >>> found = reshard(hm.Shape("f32", [64, 64]), by_rows, by_columns)
    >>> print(found)
    all-to-all: f32[64,64] from {devices=[8,1]<=[8]} to {devices=[1,8]<=[8]}
      14,336 bytes in all, at most 1,792 to a device
      1 group of 8 devices: {0,1,2,3,4,5,6,7}
    >>> reshard(hm.Shape("f32", [64, 64]), by_rows, hm.hlo.Sharding.parse("{manual}"))
    Unknown(reason='what moves is not known for {manual}: devices have arrays of their own (manual)')
    """
    expect(Shape, shape, "reshard", "a Shape", "read text with hm.Shape.parse")
    for given in (source, target):
        expect(Sharding, given, "reshard", "a Sharding", "read text with hm.hlo.Sharding.parse")
    if mesh is not None:
        expect(Mesh, mesh, "reshard", "a Mesh as `mesh`")
    n = read_count(num_devices, "reshard")
    try:
        before, after = (_assign(sharding, shape, n or 1) for sharding in (source, target))
        if n is None:
            n = 1 + max(before.last_device, after.last_device)
            before, after = (_assign(sharding, shape, n) for sharding in (source, target))
        if shape.n_elements * shape.element_bits * after.n_replicas >= 1 << 66:
            raise SizeError(f"the bytes of {one_line(str(shape))} on all devices do not fit in 64 bits")
        held, needed = Tiles.of(before), Tiles.of(after)
        received = read_only(_to_bytes(needed.n_elements - overlap(held, needed), shape))
        collective, groups = _collective(held, needed, received)
    except UnsupportedError as error:
        return Unknown(str(error))
    mesh = mesh or source.mesh or target.mesh
    speeds = read_links(links, mesh, np.union1d(held.devices, needed.devices))
    seconds = None if speeds is None or mesh is None else least_seconds(held, needed, received, mesh, speeds)
    if groups is not None:
        read_only(groups)
    devices = read_only(needed.devices)
    return Reshard(shape, source, target, collective, groups, devices, received, seconds, held, needed, mesh)


def _assign(sharding: Sharding, shape: Shape, num_devices: int) -> Assignment:
    found = assign(sharding, shape, num_devices)
    reason = found.reason if isinstance(found, Unknown) else found.uncertain
    if isinstance(found, Unknown) or reason is not None:
        raise UnsupportedError(f"what moves is not known for {one_line(str(sharding))}: {reason}")
    return found


def _to_bytes(n_elements: Ints, shape: Shape) -> Ints:
    return -(-n_elements * shape.element_bits // 8)


# ----------------------------------------------------------------------------------------------------- the collective


def _collective(held: Tiles, needed: Tiles, received: Ints) -> tuple[str, Ints | None]:
    """The name and the groups; a permutation has its pairs as groups."""
    if not received.any():
        is_same = len(held.devices) == len(needed.devices) and (held.n_elements == needed.n_elements).all()
        return ("nothing" if is_same else "slice"), None
    ratios = _ratios(held.assignment, needed.assignment)
    if ratios is None:
        return "several", None
    gathered = [max(1, ratio) for ratio in ratios]
    if max(gathered, default=1) == 1:
        lacking = needed.devices[received > 0]
        if rank_within(_tile_of(held.assignment, needed)[received > 0]).max() >= held.assignment.n_replicas:
            return "several", None
        senders, receivers = _holders(held, needed, True)
        return "collective-permute", np.stack([senders, receivers], axis=1)[np.isin(receivers, lacking)]
    if len(held.devices) != len(needed.devices) or (held.devices != needed.devices).any():
        return "several", None
    split = [max(1, -ratio) for ratio in ratios]
    blocks = held.positions // gathered
    if (blocks != needed.positions // split).any():
        return "several", None
    size = prod(gathered)
    # An all-gather where a device for each tile needs the same; else what each needs differs within a group.
    same = held.numbers * needed.assignment.n_devices + needed.numbers
    order = np.lexsort((held.numbers, rank_within(same), needed.numbers))
    if len(order) % size == 0 and _is_one_of_each(held, needed, order.reshape(-1, size)):
        return "all-gather", held.devices[order].reshape(-1, size)
    block = blocks @ np.array(place_values(held.assignment.tiles), np.int64)
    order = np.lexsort((held.numbers, rank_within(held.numbers), block))
    return "all-to-all", held.devices[order].reshape(-1, size)


def _ratios(held: Assignment, needed: Assignment) -> list[int] | None:
    """For each dimension the tiles of ``held`` in one of ``needed``, negative where it is the other way round; None
    where tiles of one are not whole tiles of the other."""
    found = []
    sides = zip(held.tiles, held.tile_sizes, needed.tiles, needed.tile_sizes, strict=True)
    for n, s, n_needed, s_needed in sides:
        if n_needed and n % n_needed == 0 and s_needed == s * (n // n_needed):
            found.append(n // n_needed)
        elif n_needed % n == 0 and s == s_needed * (n_needed // n):
            found.append(-(n_needed // n))
        else:
            return None
    return found


def _is_one_of_each(held: Tiles, needed: Tiles, rows: Ints) -> bool:
    """Whether each row has devices with different tiles that need the same tile."""
    numbers, wanted = held.numbers[rows], needed.numbers[rows]
    return bool((np.diff(numbers, axis=1) > 0).all() and (wanted == wanted[:, :1]).all())


# ------------------------------------------------------------------------------------------------------------- pairs


def _holders(held: Tiles, needed: Tiles, is_permutation: bool) -> tuple[Ints, Ints]:
    """For each device that lacks something, and each tile that it needs, a device that holds the tile."""
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
