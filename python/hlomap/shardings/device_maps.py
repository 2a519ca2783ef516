"""The maps between the elements of a sharded array and the devices that hold them.

:func:`device_map` and :func:`owner_map` are the two directions of one relation.  A device at position ``c`` along
a dimension of size ``D`` with ``n`` tiles holds the elements ``c * s`` up to ``min((c + 1) * s, D)``, with
``s = ceil(D / n)``.  The functions are the methods of :class:`~hlomap.hlo.Sharding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import SupportsIndex

from .._core import Expr, IndexingMap, Shape, Sharding
from ..answers import Unknown
from ..errors import ShapeError, UnsupportedError
from ..maps.map_set import MapSet
from ..types import expect, is_index, wrong_type
from .assignment import Assignment, assign
from .orders import Digit, Strided, place_values, split_digits

_MAX_RUNS = 1 << 16
_MANY_RUNS = 64
_Constraint = tuple[Expr, int, int]


def device_map(sharding: Sharding, shape: Shape, num_devices: int | None = None) -> MapSet:
    """:meth:`hlomap.hlo.Sharding.device_map`."""
    found = _assign(sharding, shape, "hlo.Sharding.device_map", num_devices)
    return MapSet.unknown(found.reason) if isinstance(found, Unknown) else maps_of(found)


def owner_map(sharding: Sharding, shape: Shape, num_devices: int | None = None) -> MapSet:
    """:meth:`hlomap.hlo.Sharding.owner_map`."""
    found = _assign(sharding, shape, "hlo.Sharding.owner_map", num_devices)
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


def _assign(sharding: Sharding, shape: Shape, function: str, num_devices: object = None) -> Assignment | Unknown:
    expect(Shape, shape, function, "a Shape", "read text with hm.Shape.parse")
    return assign(sharding, shape, read_count(num_devices, function))


def read_count(got: object, function: str) -> int | None:
    """A number of devices that a caller gave; raises for anything below 1.

    >>> read_count(8, "reshard"), read_count(None, "reshard")
    (8, None)
    """
    if got is None:
        return None
    if not is_index(got):
        raise wrong_type(function, "an int as `num_devices`", got)
    if not 0 < index(got) < 1 << 62:
        raise ShapeError(f"hm.{function}: expected `num_devices` from 1 to 2**62, got {index(got)}")
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
    """From a device and an element of its part to the element of the array."""
    positions, constraints, by_digits = tile_positions(assignment, run)
    needs_simplifying = bool(constraints) or not by_digits
    sizes, widths = assignment.shape.dimensions, assignment.tile_sizes
    results = [position * s + Expr.dim(k + 1) for k, (position, s) in enumerate(zip(positions, widths, strict=True))]
    for result, size, s, n in zip(results, sizes, widths, assignment.tiles, strict=True):
        if s * n != size:
            constraints.append((result, 0, size - 1))
    bounds = [(f"l{k}", 0, s - 1) for k, s in enumerate(widths)]
    found = IndexingMap([("device", *run.bounds), *bounds], results, constraints=constraints)
    return found.simplify(keep_point_dims=True) if needs_simplifying else found


def _owners(assignment: Assignment, run: Strided) -> IndexingMap:
    """From an element of the array to its devices; ranges are the replicas."""
    sizes = assignment.shape.dimensions
    # The tile along each dimension; a dimension with one tile has no digit.
    at = [
        Expr.dim(k) // s if n > 1 else Expr.constant(0)
        for k, (s, n) in enumerate(zip(assignment.tile_sizes, assignment.tiles, strict=True))
    ]
    by_dim = _digits_by_dimension(assignment, run)
    if by_dim is None:
        return _owners_by_number(assignment, run, at)
    *tiled, replicas = by_dim
    device = Expr.constant(run.base)
    for position, digits in zip(at, tiled, strict=True):
        device += _weighted(_split(position, digits), [stride for _, stride in digits])
    replicas = tuple(sorted(replicas, key=lambda digit: -digit[1]))
    device += _weighted([Expr.range(k) for k in range(len(replicas))], [stride for _, stride in replicas])
    return IndexingMap(sizes, [device], ranges=[n for n, _ in replicas])


def _owners_by_number(assignment: Assignment, run: Strided, at: Sequence[Expr]) -> IndexingMap:
    """:func:`_owners` by way of the number of the tile, where the digits of the devices are not those of the tiles."""
    n_replicas = assignment.n_replicas
    t = _weighted([*at, Expr.range(0) if n_replicas > 1 else Expr.constant(0)], assignment.places) - run.first
    device = _weighted(_split(t, run.digits), [stride for _, stride in run.digits]) + run.base
    constraints = [(t, 0, run.n - 1)] if run.n < assignment.n_devices else []
    ranges = [n_replicas] if n_replicas > 1 else []
    found = IndexingMap(assignment.shape.dimensions, [device], ranges=ranges, constraints=constraints)
    return found.simplify(keep_point_dims=True)


def tile_positions(assignment: Assignment, run: Strided) -> tuple[list[Expr], list[_Constraint], bool]:
    """The position of the tile of device ``d0`` along each dimension, and what else holds for a device of the run.

    The last value tells whether each position has digits of its own in the device.
    """
    by_dim = _digits_by_dimension(assignment, run)
    if by_dim is not None:
        values, constraints = _digits_of_device(run, [digit for digits in by_dim for digit in digits])
        waiting = iter(values)
        positions = [_weighted([next(waiting) for _ in digits], _places(digits)) for digits in by_dim[:-1]]
        return positions, constraints, True
    values, constraints = _digits_of_device(run, run.digits)
    t = _weighted(values, run.places) + run.first
    return [t // place % n for n, place in zip(assignment.tiles, assignment.places, strict=False)], constraints, False


def _digits_by_dimension(assignment: Assignment, run: Strided) -> list[tuple[Digit, ...]] | None:
    """The digits of each dimension and last those of the replicas; None where a digit belongs to two of them."""
    if run.n < assignment.n_devices:
        return None
    return split_digits(run.digits, (*assignment.tiles, assignment.n_replicas))


def _digits_of_device(run: Strided, digits: Sequence[Digit]) -> tuple[list[Expr], list[_Constraint]]:
    """The digits of device ``d0``, whose strides are places of a number, and what holds where the number has gaps."""
    values = [Expr.constant(0)] * len(digits)
    constraints: list[_Constraint] = []
    lowest = run.bounds[0]
    number = Expr.dim(0) - lowest if lowest else Expr.dim(0)
    above: int | None = None
    for k in sorted(range(len(digits)), key=lambda k: -abs(digits[k][1])):
        n, place = digits[k][0], abs(digits[k][1])
        if above is None or above == n * place:
            value = number // place if place > 1 else number
            value = value if above is None else value % n
        else:
            value = number % above // place
            constraints.append((value, 0, n - 1))
        values[k] = value if digits[k][1] > 0 else n - 1 - value
        above = place
    if above is not None and above > 1:
        constraints.append((number % above, 0, 0))
    return values, constraints


def _places(digits: Sequence[Digit]) -> list[int]:
    return place_values([n for n, _ in digits])


def _split(number: Expr, digits: Sequence[Digit]) -> list[Expr]:
    """The digits of a number that is less than the product of their sizes."""
    found = []
    for k, ((n, _), place) in enumerate(zip(digits, _places(digits), strict=True)):
        found.append(number // place if k == 0 else number // place % n)
    return found


def _weighted(values: Sequence[Expr], weights: Sequence[int]) -> Expr:
    """The sum of values, each times its weight."""
    if len(weights) == 1 and weights[0] == 1:
        return values[0]
    total: Expr | None = None
    for value, weight in zip(values, weights, strict=True):
        term = value * weight if weight != 1 else value
        total = term if total is None else total + term
    return Expr.constant(0) if total is None else total
