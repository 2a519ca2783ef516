"""The mesh of a program, and the axes that tiles and groups of devices follow.

XLA's groups and tiles list devices; the axes of the program's mesh are in the module's attributes, or in shardings by
name.  :func:`least_seconds` bounds the time of a move between devices that are linked along the axes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from .._core import Instruction, Mesh, Sharding
from ..base.lazy import np
from ..base.types import wrong_type
from ..errors import HlomapError, NotFoundError, ShapeError
from .moves import Pairs, Placements, to_bytes
from .orders import Ints
from .tiles import Flags, Tiles, n_common

_SHARDY_MESH = re.compile(r"#sdy\.mesh<\[((?:\"[^\"'\[\]]*\"=\d+(?:, ?)?)*)\](?:, device_ids=\[([\d, ]*)\])?>")
_MAX_DEVICES = 1 << 16
_MAX_CELLS = 1 << 20  # in a table
_MAX_LAYER = 1 << 26  # in the tables of a layer


def mesh_of(instruction: Instruction) -> Mesh | None:
    """The mesh that the sharding of the instruction or of an operand names, else the module's only mesh.

    >>> module = hm.parse('''HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=2, "y"=4]>}}
    ... ENTRY e { ROOT p = f32[8] parameter(0) }''')
    >>> mesh_of(module["p"]).axes
    {'x': 2, 'y': 4}
    """
    for value in (instruction, *instruction.operands):
        said = value.attributes.get("sharding")
        for part in (said, *said.parts) if isinstance(said, Sharding) else ():
            if part.mesh is not None and part.mesh.axes:  # `mesh[]` stands for every device
                return part.mesh
    return _mesh_in(str((instruction.module.attributes.get("frontend_attributes") or {}).get("xla.sdy.meshes", "")))


@lru_cache(maxsize=8)
def _mesh_in(said: str) -> Mesh | None:
    """The only mesh in the text of Shardy's meshes."""
    found = {match.groups() for match in _SHARDY_MESH.finditer(said.replace('\\"', '"')) if match.group(1)}
    if len(found) != 1:
        return None
    ((axes, devices),) = found
    ids = f", device_ids=({devices.replace(' ', '')})" if devices else ""
    text = ",".join(f"'{name}'={size}" for name, size in re.findall(r'"([^"\']*)"=(\d+)', axes))
    try:
        mesh = Mesh.parse(f"mesh[{text}]{ids}")
    except HlomapError:
        return None
    return mesh if prod(mesh.axes.values()) <= _MAX_DEVICES else None


def axes_of_groups(mesh: Mesh, groups: Sequence[Sequence[int]]) -> tuple[str, ...] | None:
    """The axes along which the devices of a group differ, if each group has all devices that differ only along them.

    >>> mesh = Mesh.parse("mesh['x'=2,'y'=2]")
    >>> axes_of_groups(mesh, [(0, 2), (1, 3)]), axes_of_groups(mesh, [(0, 3), (1, 2)])
    (('x',), None)
    """
    sizes, known = list(mesh.axes.values()), set(mesh.devices)
    if not groups or len({len(group) for group in groups}) != 1 or not known.issuperset(d for g in groups for d in g):
        return None
    at = mesh_positions(mesh, np.array(groups, np.int64))
    differs = (at != at[:, :1]).any(axis=1)
    axes = np.flatnonzero(differs[0])
    is_whole = (differs == differs[0]).all() and prod(sizes[axis] for axis in axes) == len(groups[0])
    if not is_whole or any(len(set(group)) != len(group) for group in groups):
        return None
    return tuple(name for axis, name in enumerate(mesh.axes) if axis in axes)


def axes_of_pairs(mesh: Mesh, pairs: Sequence[Sequence[int]]) -> tuple[str, ...] | None:
    """The axes along which the source and the target of any pair differ.

    >>> axes_of_pairs(Mesh.parse("mesh['x'=2,'y'=2]"), [(0, 0), (1, 3), (3, 1)])
    ('x',)
    """
    moved = [(source, target) for source, target in pairs if source != target]
    if not moved or not set(mesh.devices).issuperset(device for pair in moved for device in pair):
        return None
    at = mesh_positions(mesh, np.array(moved, np.int64))
    differs = (at[:, 0] != at[:, 1]).any(axis=0)
    return tuple(name for name, differ in zip(mesh.axes, differs.tolist(), strict=True) if differ)


def sharding_text(sharding: Sharding, mesh: Mesh | None) -> str:
    """The text of a sharding, with the axes of a mesh that its tiles follow if it does not name them.

    >>> sharding_text(Sharding.parse("{devices=[1,2,2]<=[4] last_tile_dim_replicate}"), Mesh.parse("mesh['x'=2,'y'=2]"))
    "{devices=[1,2,2]<=[4] last_tile_dim_replicate} = [{}, {'x'}]"
    """
    axes = None if mesh is None else _axes_of_dimensions(sharding, mesh)
    if axes is None:
        return str(sharding)
    listed = ", ".join("{" + ", ".join(f"'{name}'" for name in names) + "}" for names in axes)
    return f"{sharding} = [{listed}]"


def _axes_of_dimensions(sharding: Sharding, mesh: Mesh) -> list[tuple[str, ...]] | None:
    """For each dimension of the array the axes that split it, major to minor; None if tiles follow none."""
    sizes = sharding.tile_dimensions
    if sharding.kind != "tiled" or sizes is None or prod(sizes) != prod(mesh.axes.values()):
        return None
    devices = np.array(sharding.devices, np.int64)
    if set(devices.tolist()) != set(mesh.devices):
        return None
    at = mesh_positions(mesh, devices.reshape(sizes))
    found: list[tuple[str, ...]] = []
    for dim, size in enumerate(sizes):
        along = np.moveaxis(at, dim, 0).reshape(size, -1, at.shape[-1])
        axes = np.flatnonzero((along != along[:1]).any(axis=(0, 1)))
        own = along[..., axes]
        if (own != own[:, :1]).any() or prod(list(mesh.axes.values())[axis] for axis in axes) != size:
            return None
        expected = np.unravel_index(np.arange(size), [list(mesh.axes.values())[axis] for axis in axes] or [1])
        if len(axes) and (own[:, 0] != np.stack(expected, axis=-1)).any():
            return None
        found.append(tuple(list(mesh.axes)[axis] for axis in axes))
    n_last = int(sharding.replicates_last_dimension) or len(sharding.last_dimensions)
    return found[: len(found) - n_last] if n_last else found


# Lower bounds of the time of a move between devices that are linked along the axes of a mesh.  A device receives at
# most the sum of its links' bytes per second, and elements that no device with the same position along an axis holds
# must cross a link of that axis.


def read_links(
    links: Mapping[str, float] | None, mesh: Mesh | None, devices: Ints, function: str = "reshard"
) -> list[float] | None:
    """The bytes per second along each axis; None without links.

    Raises :class:`~hlomap.errors.ShapeError` if there is no mesh or a device is not in it or a speed is not
    positive, and :class:`~hlomap.errors.NotFoundError` if the mesh has other axes.
    """
    if links is None:
        return None
    if not isinstance(links, Mapping):
        raise wrong_type(function, "a mapping from the axes of the mesh to bytes per second as `links`", links)
    if mesh is None:
        raise ShapeError("links need a mesh: pass `mesh`, or shardings by the axes of one")
    wrong = sorted(set(links) ^ {name for name, size in mesh.axes.items() if size > 1 or name in links})
    if wrong:
        raise NotFoundError(f"`links` and the axes of the mesh {list(mesh.axes)} differ in {wrong[0]!r}")
    missing = np.setdiff1d(devices, np.array(mesh.devices, np.int64))
    if len(missing):
        raise ShapeError(f"device {missing[0]} is not in the mesh")
    speeds = [float(links.get(name, 1.0)) for name in mesh.axes]
    if not all(speed > 0 for speed in speeds):
        raise ShapeError(f"links have a positive number of bytes per second, found {min(speeds)}")
    return speeds


def mesh_positions(mesh: Mesh, devices: Ints) -> Ints:
    """``[..., axis]``: the position of each device along each axis."""
    listed = np.array(mesh.devices, np.int64)
    order = np.argsort(listed)
    at = order[np.searchsorted(listed[order], devices)]
    sizes = tuple(mesh.axes.values()) or (1,)
    return np.stack(np.unravel_index(at, sizes), axis=-1).astype(np.int64)


def least_seconds(held: Tiles, needed: Tiles, received: Ints, mesh: Mesh, speeds: list[float]) -> float:
    """The larger of both bounds; ``received`` in bytes."""
    sizes = list(mesh.axes.values())
    total = sum(speed for speed, size in zip(speeds, sizes, strict=True) if size > 1)
    seconds = float(received.max(initial=0)) / total if total else 0.0
    holds_at, needs_at = mesh_positions(mesh, held.devices), mesh_positions(mesh, needed.devices)
    n_devices = len(mesh.devices)
    bits = needed.assignment.shape.element_bits
    for axis, (speed, size) in enumerate(zip(speeds, sizes, strict=True)):
        for position in range(size) if size > 1 else ():
            missing = _missing(held, holds_at[:, axis] == position, needed, needs_at[:, axis] == position)
            seconds = max(seconds, missing * bits / 8 / (n_devices // size * speed))
    return seconds


def _missing(held: Tiles, holders: np.ndarray, needed: Tiles, takers: np.ndarray) -> int:
    """The number of elements that some of ``takers`` needs and none of ``holders`` has."""
    _, first = np.unique(needed.numbers[takers], return_index=True)
    wanted = np.flatnonzero(takers)[first]
    _, first = np.unique(held.numbers[holders], return_index=True)
    present = np.flatnonzero(holders)[first]
    shared = sum(int(n_common(held, row, needed, wanted).sum()) for row in present.tolist())
    return int(needed.n_elements[wanted].sum()) - shared


def least_seconds_of_pairs(pairs: Pairs, bits: Ints, most: Ints, mesh: Mesh, speeds: list[float]) -> np.ndarray:
    """:func:`least_seconds` for each of many pairs, given the ``bits`` of an element and the ``most`` received
    elements.

    If shardings follow the mesh, the tiles of devices at one position along an axis have independent positions along
    their dimensions.  Then the number of elements that some need and none holds is a difference of products.  NaN for
    other pairs.
    """
    sizes = list(mesh.axes.values())
    total = sum(speed for speed, size in zip(speeds, sizes, strict=True) if size > 1)
    seconds = to_bytes(most, bits) / total if total else np.zeros(len(pairs))
    holds_at, needs_at = mesh_positions(mesh, pairs.held.devices), mesh_positions(mesh, pairs.needed.devices)
    for axis, (speed, size) in enumerate(zip(speeds, sizes, strict=True)):
        if size > 1 and not max(_n_cells(pairs.held, size), _n_cells(pairs.needed, size)) <= _MAX_LAYER:
            return np.full(len(pairs), np.nan)
        if size > 1:
            held, needed = (_Layer(pairs.held, holds_at[:, axis], size), _Layer(pairs.needed, needs_at[:, axis], size))
            wanted, present = (table[pairs.side_at].prod(axis=1) for table in _lengths(pairs, held, needed))
            missing = (wanted - present).max(axis=1)
            bound = missing * bits / 8 / (len(mesh.devices) // size * speed)
            seconds = np.where(held.is_grid[pairs.at] & needed.is_grid[pairs.to], np.maximum(seconds, bound), np.nan)
    return seconds


def _n_cells(placements: Placements, size: int) -> int:
    tiles = len(placements.positions) * (int(placements.n_tiles.max()) + 1)
    return size * max(tiles, placements.numbers.size)


class _Layer:
    """The tiles of the devices at each position along an axis of a mesh."""

    def __init__(self, placements: Placements, position: Ints, size: int) -> None:
        n_tiles = int(placements.n_tiles.max()) + 1
        self.present: Flags = np.zeros((len(placements.positions), size, n_tiles), np.bool_)
        """``[row of positions, position along the axis, position of a tile]``; the last tile stands for none."""
        self.present[np.arange(len(placements.positions))[:, None], position, placements.positions] = True
        n_positions = self.present.sum(axis=2)
        numbers = np.zeros((len(placements.numbers), size, len(placements.devices)), np.bool_)
        numbers[np.arange(len(numbers))[:, None], position, placements.numbers] = True
        self.is_grid: Flags = (numbers.sum(axis=2) == n_positions[placements.sides].prod(axis=1)).all(axis=1)
        """``[placement]``: whether each position along a dimension occurs with each position along the others."""


def _lengths(pairs: Pairs, held: _Layer, needed: _Layer) -> tuple[Ints, Ints]:
    """``[side, position along the axis]``: the elements along a dimension that devices need, and those also held."""
    sides = pairs.sides
    cells = max(held.present[0].size, needed.present[0].size)
    parts = [slice(k, k + max(1, _MAX_CELLS // cells)) for k in range(0, pairs.n_sides, max(1, _MAX_CELLS // cells))]
    found: list[tuple[Ints, Ints]] = []
    for rows in parts:
        size, (held_size, needed_size) = sides.size[rows], (one[rows, None] for one in sides.tile_sizes)
        is_held, is_needed = held.present[sides.held_at[rows]], needed.present[sides.needed_at[rows]]
        edges = np.minimum(np.arange(is_held.shape[2] + 1) * held_size, size)
        lengths = is_held * np.diff(edges)[:, None]
        before: Ints = np.cumsum(lengths, axis=2) - lengths
        low = np.minimum(np.arange(is_needed.shape[2]) * needed_size, size)
        high = np.minimum(low + needed_size, size)

        def held_below(x: Ints, held_size: Ints = held_size, before: Ints = before, is_held: Flags = is_held) -> Ints:
            """``[side, position, tile]``: the number of held elements below each of ``x``."""
            tile = np.minimum(x // np.maximum(held_size, 1), is_held.shape[2] - 1)
            at = np.broadcast_to(tile[:, None], (len(tile), is_held.shape[1], tile.shape[1]))
            inside = (x - tile * held_size)[:, None] * np.take_along_axis(is_held, at, axis=2)
            return np.asarray(np.take_along_axis(before, at, axis=2) + inside)

        both = (held_below(high) - held_below(low)) * is_needed
        found.append((((high - low)[:, None] * is_needed).sum(axis=2), both.sum(axis=2)))
    return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])
