"""Replaces runtime variables whose values are known at compile time outside the computation of the operation.

:func:`known_maps` is the entry point.  The rules of gathers and slices use values in their own computation;
this module replaces a variable that is read from an operand of a fusion or call by the known value of that operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._core import Expr, IndexingMap
from ..base.lazy import np
from ..hlo.device_counts import device_counts
from ..maps.device_groups import DeviceIndexing
from ..maps.map_set import MapSet
from ..maps.variables import numbers_of, suppliers_of, with_variables
from ..ops._evaluation import Device
from ..ops._indexing.index_vectors import clamp, known_value, pieces_for_maps, within
from ..ops._known import Known, Parts, Piece
from ..ops._tables import pieces_of

if TYPE_CHECKING:
    from .questions import Questions

_MAX_DEVICES = 512
"""The most devices for which an offset is computed separately."""


def known_maps(maps: list[IndexingMap], questions: Questions) -> list[IndexingMap]:
    """The maps with expressions in place of runtime variables whose sources are affine in the index.

    A map becomes one for each piece of the values; the list itself is returned if nothing is known.
    """
    found = [part for m in maps for part in _parts(m, questions)]
    return maps if len(found) == len(maps) and all(a is b for a, b in zip(found, maps, strict=True)) else found


def at_known_positions(devices: DeviceIndexing, questions: Questions) -> DeviceIndexing | MapSet:
    """The device maps with the position of the device in place of offsets that are computed from it.

    If they then stay on the device, elements do not cross devices: the result is the set of plain maps.
    """
    maps = devices.maps
    table = _table(devices, questions) if any(m.runtime for m in maps) else None
    if table is None:
        return devices
    members = [_at_position(m, table, questions) for m in maps]
    if all(a is b for a, b in zip(members, maps, strict=True)):
        return devices
    left = [m for m in members if not m.is_known_empty]
    plain = [_without_device(m) for m in left]
    own = [m for m in plain if m is not None]
    found = MapSet(own if len(own) == len(left) else left, exact=maps.exact, reason=maps.reason)
    return found if len(own) == len(left) else DeviceIndexing(devices.ids, devices.groups, found)


def _table(devices: DeviceIndexing, questions: Questions) -> list[list[Device]] | None:
    """The devices by group and position, if all groups are equally large and devices are few."""
    groups = devices.groups
    if not 0 < sum(map(len, groups)) <= _MAX_DEVICES or len(set(map(len, groups))) != 1:
        return None
    _, n = device_counts(questions.module).grid
    return [[_device(devices.ids, number, n) for number in group] for group in groups]


def _device(kind: str, number: int, n_partitions: int) -> Device:
    if kind == "device":
        return Device(number // n_partitions, number % n_partitions, number)
    return Device(0, number, number) if kind == "partition" else Device(number, 0, number)


def _at_position(m: IndexingMap, table: list[list[Device]], questions: Questions) -> IndexingMap:
    for i, variable in enumerate(m.runtime):
        supplier = variable.supplier
        if supplier is None or len(variable.element) != 2 or supplier.module != questions.module:
            continue  # the element is of an array
        found = (_number(questions.known_values(supplier, device)) for group in table for device in group)
        values = [value for value in found if value is not None]
        shape = len(table), len(table[0])
        if len(values) < shape[0] * shape[1]:
            continue
        pieces = pieces_of(np.array(values, np.int64).reshape(shape))
        if len(pieces) == 1 and known_value(pieces[0]) is not None:
            return _at_position(_replaced(m, i, pieces[0], shape), table, questions)
    return m


def _number(known: Known) -> int | None:
    value = known_value(known[0]) if not isinstance(known, Parts) and len(known) == 1 else None
    return value if isinstance(value, int) else None


def _without_device(m: IndexingMap) -> IndexingMap | None:
    """The map of elements on one device if the map keeps group and position; else None."""
    n = len(m.dims) - 2
    kept = [v.lower == v.upper for v in m.dims[n:]]
    for e, v, number, is_one in zip(m.results[-2:], m.dims[n:], (n, n + 1), kept, strict=True):
        if e != Expr.dim(number) and not (is_one and e == Expr.constant(v.lower)):
            return None
    inner = [*m.results[:-2], *(c.expr for c in m.constraints)]
    if m.runtime or any(number >= n for e in inner for number in numbers_of(e, "dim")):
        return None
    found = IndexingMap(m.dims[:n], m.results[:-2], ranges=m.ranges, constraints=m.constraints)
    return found._placed(m.shape_index, m.use, {})


def _parts(m: IndexingMap, questions: Questions, first: int = 0) -> list[IndexingMap]:
    """The map for each piece of the known values of its runtime variables, starting at number ``first``."""
    for i, variable in enumerate(() if m.is_undefined else m.runtime[first:], first):
        supplier = variable.supplier
        if supplier is None or supplier.module != questions.module or not supplier.shape.is_array:
            continue
        if len(variable.element) != supplier.shape.rank:
            continue  # it is an element of some device
        pieces = pieces_for_maps(questions.known_values(supplier))
        sizes = supplier.shape.dimensions
        parts = [(known_value(piece) is None, _replaced(m, i, piece, sizes)) for piece in pieces]
        found = [(is_kept, part) for is_kept, part in parts if not part.is_known_empty]
        if not all(is_kept for is_kept, _ in found):
            return [each for is_kept, part in found for each in _parts(part, questions, i + is_kept)]
    return [m]


def _replaced(m: IndexingMap, i: int, piece: Piece, sizes: Sequence[int]) -> IndexingMap:
    """The map restricted to points at which the element of a runtime variable is in a piece of an array of these
    sizes."""
    variable, value = m.runtime[i], known_value(piece)
    inside = within(piece.region, sizes, variable.element)
    if value is None:
        constraints = [*((c.expr, c.lower, c.upper) for c in m.constraints), *inside]
        part = IndexingMap(m.dims, m.results, ranges=m.ranges, runtime=m.runtime, constraints=constraints)
        return part.simplify(keep_point_dims=True)._placed(m.shape_index, m.use, suppliers_of(m))
    bounds = (variable.lower, variable.upper)
    if isinstance(value, Expr):
        own = (piece.region or IndexingMap(list(sizes), [])).bounds(value)
        start = clamp(value.substitute(dims=variable.element), own, bounds)
    else:
        start = clamp(value or 0, (value or 0, value or 0), bounds)
    by_number: list[Expr | int] = [Expr.runtime(k - (k > i)) for k in range(len(m.runtime))]
    by_number[i] = start if isinstance(start, int) else start.substitute(runtime=by_number)
    kept = [v for k, v in enumerate(m.runtime) if k != i]
    found = with_variables(m, m.dims, m.ranges, ((), (), by_number), kept, inside)
    found = found.simplify(keep_point_dims=True, drop_unused=True)
    return found._placed(m.shape_index, m.use, suppliers_of(m))
