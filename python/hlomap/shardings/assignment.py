"""Every form of a sharding as tiles of an array in an order of devices.

:func:`assign` returns an :class:`Assignment`.  An assignment has as many tiles, including those of subgroups, as
devices, and no device has two tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from .._core import Mesh, Shape, Sharding
from ..base.answers import Unknown
from ..base.lazy import np
from ..base.text import one_line
from ..errors import ShapeError
from ..hlo.annotations import is_everywhere
from .orders import Digit, Ints, Strided, find_strides, place_values, split_into_runs

ALL_DEVICES = 1 << 31
"""The number of devices of a replicated array if it is not given: all numbers of 31 bits."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The tiles of an array: their numbers along each dimension, then along each subgroup, and their devices in
    row-major order."""

    shape: Shape
    tiles: tuple[int, ...]
    subgroups: tuple[tuple[int, str], ...]
    """The size of each subgroup and its kind: ``replicated``, ``manual`` or ``unreduced``."""
    order: Strided | Ints

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """The size of a whole tile along each dimension."""
        return tuple(-(-size // n) for size, n in zip(self.shape.dimensions, self.tiles, strict=True))

    @property
    def n_replicas(self) -> int:
        """The number of devices that share a tile."""
        return prod(n for n, _ in self.subgroups)

    @property
    def n_devices(self) -> int:
        return prod(self.tiles) * self.n_replicas

    @property
    def places(self) -> list[int]:
        """Place values in the number of a tile: of each dimension, and finally of the replicas."""
        return place_values((*self.tiles, self.n_replicas))

    @property
    def uncertain(self) -> str | None:
        """Why a device does not hold the actual elements of its tile; None if it does."""
        kinds = {kind for n, kind in self.subgroups if n > 1}
        if "unreduced" in kinds:
            return "each device holds a partial result of every element (unreduced)"
        return "each device has a separate array (manual)" if "manual" in kinds else None

    def devices(self) -> Ints:
        """The device of each tile."""
        return self.order.devices() if isinstance(self.order, Strided) else self.order

    @property
    def last_device(self) -> int:
        return self.order.bounds[1] if isinstance(self.order, Strided) else int(self.order.max())

    def runs(self) -> list[Strided]:
        """The order split into parts with strides."""
        return [self.order] if isinstance(self.order, Strided) else split_into_runs(self.order)

    def coordinates(self, device: int) -> tuple[int, ...] | None:
        """The position of a device's tile along each dimension; None for a device without one."""
        if isinstance(self.order, Strided):
            t = self.order.tile_of(device)
        else:
            found = np.flatnonzero(self.order == device)
            t = int(found[0]) if len(found) else None
        if t is None:
            return None
        return tuple(t // place % n for n, place in zip(self.tiles, self.places, strict=False))


_Parts: TypeAlias = "tuple[tuple[int, ...], tuple[tuple[int, str], ...], Strided | Ints]"
"""Tiles, subgroups and order of an assignment."""


def assign(sharding: Sharding, shape: Shape, n_devices: int | None = None) -> Assignment | Unknown:
    """The tiles of a sharded array; ``n_devices`` is for kinds that do not determine the number of devices.

    XLA treats a sharding by axes that splits nothing as replicated: the array is on all ``n_devices``, if given, not
    just on the devices of the mesh.

    Raises :class:`~hlomap.errors.ShapeError` if the sharding does not fit the shape.

    >>> found = assign(Sharding.parse("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"), Shape("f32", [5, 3]))
    >>> assert isinstance(found, Assignment)
    >>> found.tiles, found.tile_sizes, found.n_replicas, found.order
    ((2, 1), (3, 3), 2, Strided(base=0, digits=((2, 1), (2, 2)), first=0))
    """
    kind = sharding.kind
    if kind == "tuple":
        raise ShapeError(f"{_shown(sharding)} is for a tuple: take the sharding of one array, sharding.parts[i]")
    if not is_bounded(shape):
        raise ShapeError(f"a sharding divides an array with bounded dimensions, found {one_line(str(shape))}")
    parts = _tiled(sharding, shape.rank) if kind == "tiled" else _untiled(sharding, kind, shape.rank, n_devices)
    if isinstance(parts, Unknown):
        return parts
    found = Assignment(shape, *parts)
    if n_devices is not None and kind == "named" and sharding.device is None and is_everywhere(sharding):
        return Assignment(shape, *_replicated(shape.rank, max(n_devices, 1 + found.last_device)))
    return found


def is_bounded(shape: Shape) -> bool:
    """Whether a shape is that of an array with bounded dimensions."""
    return shape.is_array and -1 not in shape.dimensions


def _untiled(sharding: Sharding, kind: str, rank: int, n_devices: int | None) -> _Parts | Unknown:
    if kind == "unknown":
        return Unknown("the sharding is not decided yet")
    if sharding.device is not None:
        return (1,) * rank, (), Strided(sharding.device, ())
    if kind == "named" and sharding.mesh is not None and sharding.mesh.axes:
        return _named(sharding, rank, sharding.mesh)
    if kind == "named":  # A mesh without axes means that the array is on every device.
        _check_rank(sharding, len(sharding.dimension_axes), rank)
        kind = "replicated"
    return _replicated(rank, ALL_DEVICES if n_devices is None else n_devices, kind)


def _replicated(rank: int, n: int, kind: str = "replicated") -> _Parts:
    return (1,) * rank, ((n, kind),), Strided(0, ((n, 1),))


def _tiled(sharding: Sharding, rank: int) -> _Parts | Unknown:
    sizes = sharding.tile_dimensions or ()
    kinds = sharding.last_dimensions or ("replicated",) * sharding.replicates_last_dimension
    _check(min(sizes, default=1) > 0, sharding, "a dimension has no tile")
    n_tiled = len(sizes) - len(kinds)
    _check(n_tiled == rank, sharding, f"divides {n_tiled} dimensions, the array has {rank}")
    if any(kind == "unknown" and n > 1 for n, kind in zip(sizes[rank:], kinds, strict=True)):
        return Unknown("the sharding of a subgroup is not decided yet")
    order: Strided | Ints
    iota = sharding.iota
    if iota is not None:
        order = Strided(0, _iota_digits(sharding, *iota))
        n_listed = order.n
    else:
        listed = np.array(sharding.devices, np.int64)
        order, n_listed = _listed(sharding, listed), len(listed)
    _check(n_listed == prod(sizes), sharding, f"has {prod(sizes)} tiles, but {n_listed} devices")
    return sizes[:rank], tuple(zip(sizes[rank:], kinds, strict=True)), order


def _iota_digits(sharding: Sharding, reshape: Sequence[int], transpose: Sequence[int]) -> tuple[Digit, ...]:
    is_permutation = sorted(transpose) == list(range(len(reshape)))
    _check(is_permutation and min(reshape, default=1) > 0, sharding, "the iota has inconsistent sizes")
    strides = place_values(reshape)
    return tuple((reshape[k], strides[k]) for k in transpose if reshape[k] > 1)


def _listed(sharding: Sharding, devices: Ints) -> Strided | Ints:
    _check(bool((devices >= 0).all()), sharding, "a device has a negative number")
    _check(len(np.unique(devices)) == len(devices), sharding, "a device is listed twice")
    return find_strides(devices) or devices


# --------------------------------------------------------------------------------------------------- axes of a mesh

_AxisPart: TypeAlias = tuple[int, int, int]
"""The number of an axis, the size of its part before this one, and the size of this part."""


def _named(sharding: Sharding, rank: int, mesh: Mesh) -> _Parts:
    sizes = tuple(mesh.axes.values())
    _check(min(sizes, default=1) > 0, sharding, "an axis has no device")
    by_dim, replicated, unreduced, manual = sharding._axis_numbers()
    _check_rank(sharding, len(by_dim), rank)
    used = [part for parts in (*by_dim, replicated, unreduced, manual) for part in parts]
    kinds = [(part, "unreduced") for part in unreduced] + [(part, "manual") for part in manual]
    kinds += [(part, "replicated") for part in (*replicated, *_unused(sharding, sizes, used))]
    tiles = tuple(prod(size for _, _, size in parts) for parts in by_dim) or (1,) * rank
    parts = [part for parts in by_dim for part in parts] + [part for part, _ in kinds]
    return tiles, tuple((part[2], kind) for part, kind in kinds), _mesh_order(sharding, mesh, sizes, parts)


def _unused(sharding: Sharding, sizes: Sequence[int], used: Sequence[_AxisPart]) -> list[_AxisPart]:
    """The remaining parts of axes."""
    left: list[_AxisPart] = []
    for axis, whole in enumerate(sizes):
        done = 1
        for _, before, size in sorted(part for part in used if part[0] == axis):
            fits = size > 0 and before >= done and before % done == 0 and whole % (before * size) == 0
            _check(fits, sharding, "parts of an axis overlap or do not divide it")
            left.append((axis, done, before // done))
            done = before * size
        left.append((axis, done, whole // done))
    return [part for part in left if part[2] > 1]


def _mesh_order(sharding: Sharding, mesh: Mesh, sizes: Sequence[int], parts: Sequence[_AxisPart]) -> Strided | Ints:
    """The devices in the order of these parts of axes, which cover the mesh; the first part varies slowest."""
    places = place_values(sizes)
    lows = [places[axis] * (sizes[axis] // (before * size)) for axis, before, size in parts]
    devices = np.array(mesh.devices, np.int64)
    _check(len(devices) == prod(sizes), sharding, "the mesh and its devices differ in number")
    at = Strided(0, tuple((part[2], low) for low, part in zip(lows, parts, strict=True))).devices()
    return _listed(sharding, devices[at])


def _check_rank(sharding: Sharding, n_dimensions: int, rank: int) -> None:
    """Checks the rank of a sharding by axes; one without dimensions fits any rank."""
    _check(n_dimensions in (0, rank), sharding, f"divides {n_dimensions} dimensions, the array has {rank}")


def _check(holds: bool, sharding: Sharding, problem: str) -> None:
    if not holds:
        raise ShapeError(f"{_shown(sharding)}: {problem}")


def _shown(sharding: Sharding) -> str:
    return one_line(f"sharding {sharding}")
