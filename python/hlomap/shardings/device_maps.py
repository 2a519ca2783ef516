"""The maps between the elements of a sharded array and the devices that hold them.

:func:`device_map` and :func:`owner_map` are the two directions of one relation.  A device at position ``c`` along
a dimension of size ``D`` with ``n`` tiles holds the elements ``c * s`` up to ``min((c + 1) * s, D)``, with
``s = ceil(D / n)``.  :class:`~hlomap.hlo.Sharding` has the functions as methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from .._core import Expr, IndexingMap, Shape, Sharding
from ..base.answers import Unknown
from ..base.types import expect, is_index, wrong_type
from ..errors import ShapeError, UnsupportedError
from ..maps.map_set import MapSet
from .assignment import Assignment, assign
from .orders import Strided

_MAX_RUNS = 1 << 16
_MANY_RUNS = 64
_Constraint = tuple[Expr, int, int]


def device_map(sharding: Sharding, shape: Shape, n_devices: int | None = None) -> MapSet:
    """:meth:`hlomap.hlo.Sharding.device_map`."""
    found = _assign(sharding, shape, "hlo.Sharding.device_map", n_devices)
    return MapSet.unknown(found.reason) if isinstance(found, Unknown) else maps_of(found)


def owner_map(sharding: Sharding, shape: Shape, n_devices: int | None = None) -> MapSet:
    """:meth:`hlomap.hlo.Sharding.owner_map`."""
    found = _assign(sharding, shape, "hlo.Sharding.owner_map", n_devices)
    return MapSet.unknown(found.reason) if isinstance(found, Unknown) else maps_of(found, to_devices=True)


def local_shape(sharding: Sharding, shape: Shape, device: SupportsIndex | None = None) -> Shape | None:
    """:meth:`hlomap.hlo.Sharding.local_shape`."""
    found = _known(_assign(sharding, shape, "hlo.Sharding.local_shape"))
    sizes: Sequence[int] = found.tile_sizes
    if device is not None:
        if not is_index(device):
            raise wrong_type("hlo.Sharding.local_shape", "an int as `device`", device)
        at = found.coordinates(index(device))
        if at is None:
            return None
        whole = zip(shape.dimensions, sizes, at, strict=True)
        sizes = [min(s, max(0, size - c * s)) for size, s, c in whole]
    return Shape(shape.dtype, sizes, shape.layout)


def is_even(sharding: Sharding, shape: Shape) -> bool:
    """:meth:`hlomap.hlo.Sharding.is_even`."""
    found = _known(_assign(sharding, shape, "hlo.Sharding.is_even"))
    return all(size % n == 0 for size, n in zip(shape.dimensions, found.tiles, strict=True))


def _assign(sharding: Sharding, shape: Shape, function: str, n_devices: object = None) -> Assignment | Unknown:
    expect(Shape, shape, function, "a Shape", "read text with hm.Shape.parse")
    return assign(sharding, shape, read_count(n_devices, function))


def read_count(got: object, function: str) -> int | None:
    """The number of devices in an argument; raises for anything below 1.

    >>> read_count(8, "reshard"), read_count(None, "reshard")
    (8, None)
    """
    if got is None:
        return None
    if not is_index(got):
        raise wrong_type(function, "an int as `n_devices`", got)
    if not 0 < index(got) < 1 << 62:
        raise ShapeError(f"hm.{function}: expected `n_devices` from 1 to 2**62, got {index(got)}")
    return index(got)


def _known(found: Assignment | Unknown) -> Assignment:
    if isinstance(found, Unknown):
        raise UnsupportedError(f"no part of the array is known: {found.reason}")
    return found


# ------------------------------------------------------------------------------------------------------ both directions


def maps_of(assignment: Assignment, *, to_devices: bool = False) -> MapSet:
    """The maps from devices to elements or, with ``to_devices``, from elements to devices."""
    runs = assignment.runs()
    if len(runs) > _MAX_RUNS:
        return MapSet.unknown(f"the order of the devices has {len(runs)} runs; at most {_MAX_RUNS} become maps")
    if 0 in assignment.shape.dimensions:
        runs = []
    write = _owners if to_devices else _elements
    reason = uncertain = assignment.uncertain
    if reason is None and len(runs) > _MANY_RUNS:
        reason = f"the order of the devices has no affine form: a table of {len(runs)} runs"
    maps = [write(assignment, run) for run in runs]
    return MapSet([m for m in maps if not m.is_known_empty], exact=uncertain is None, reason=reason)


def _elements(assignment: Assignment, run: Strided) -> IndexingMap:
    """The map from a device and an element of its part to the element of the array."""
    positions, constraints = tile_positions(assignment, run)
    sizes, widths = assignment.shape.dimensions, assignment.tile_sizes
    results = [position * s + Expr.dim(k + 1) for k, (position, s) in enumerate(zip(positions, widths, strict=True))]
    for result, size, s, n in zip(results, sizes, widths, assignment.tiles, strict=True):
        if s * n != size:
            constraints.append((result, 0, size - 1))
    bounds = [(f"l{k}", 0, s - 1) for k, s in enumerate(widths)]
    return IndexingMap([("device", *run.bounds), *bounds], results, constraints=constraints).simplify(
        keep_point_dims=True
    )


def _owners(assignment: Assignment, run: Strided) -> IndexingMap:
    """The map from an element of the array to its devices; the range is the replica."""
    sides = enumerate(zip(assignment.tile_sizes, assignment.tiles, strict=True))
    at = [Expr.dim(k) // s if n > 1 else Expr.constant(0) for k, (s, n) in sides]
    n_replicas = assignment.n_replicas
    t = _weighted([*at, Expr.range(0) if n_replicas > 1 else Expr.constant(0)], assignment.places) - run.first
    digits = [t // place % n for (n, _), place in zip(run.digits, run.places, strict=True)]
    device = _weighted(digits, [stride for _, stride in run.digits]) + run.base
    constraints = [(t, 0, run.n - 1)] if run.n < assignment.n_devices else []
    ranges = [n_replicas] if n_replicas > 1 else []
    found = IndexingMap(assignment.shape.dimensions, [device], ranges=ranges, constraints=constraints)
    return found.simplify(keep_point_dims=True)


def tile_positions(assignment: Assignment, run: Strided) -> tuple[list[Expr], list[_Constraint]]:
    """The position of the tile of device ``d0`` along each dimension, and further constraints on a device of the run.

    Strides are place values in the number of the device, between which there may be gaps.
    """
    digits = [Expr.constant(0)] * len(run.digits)
    constraints: list[_Constraint] = []
    number = Expr.dim(0) - run.bounds[0]
    above: int | None = None
    for k in sorted(range(len(digits)), key=lambda k: -abs(run.digits[k][1])):
        n, stride = run.digits[k]
        place = abs(stride)
        digit = number // place if above is None else number % above // place
        if above is not None and above != n * place:
            constraints.append((digit, 0, n - 1))
        digits[k] = digit if stride > 0 else n - 1 - digit
        above = place
    if above is not None and above > 1:
        constraints.append((number % above, 0, 0))
    t = _weighted(digits, run.places) + run.first
    return [t // place % n for n, place in zip(assignment.tiles, assignment.places, strict=False)], constraints


def _weighted(values: Sequence[Expr], weights: Sequence[int]) -> Expr:
    """The sum of values, each times its weight."""
    return sum((value * weight for value, weight in zip(values, weights, strict=True)), Expr.constant(0))
