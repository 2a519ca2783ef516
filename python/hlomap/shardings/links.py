"""Lower bounds of the time of a move between devices that are linked along the axes of a mesh.

:func:`least_seconds` is the entry point.  A device receives at most the sum of its links' bytes per second, and
what no device with the same position along an axis holds must cross a link of that axis.
"""

from __future__ import annotations

from collections.abc import Mapping

from .._core import Mesh
from ..errors import NotFoundError, ShapeError
from ..lazy import np
from ..types import wrong_type
from .orders import Ints
from .tiles import Tiles


def read_links(links: Mapping[str, float] | None, mesh: Mesh | None, devices: Ints) -> list[float] | None:
    """The bytes per second along each axis; None without links.

    Raises :class:`~hlomap.errors.ShapeError` where there is no mesh or a device is not in it or a speed is not
    positive, and :class:`~hlomap.errors.NotFoundError` where the mesh has other axes.
    """
    if links is None:
        return None
    if not isinstance(links, Mapping):
        raise wrong_type("reshard", "a mapping from the axes of the mesh to bytes per second as `links`", links)
    if mesh is None:
        raise ShapeError("links are those of a mesh: give `mesh`, or shardings by the axes of one")
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
    """The elements that some of ``takers`` needs and none of ``holders`` has."""
    _, first = np.unique(needed.numbers[takers], return_index=True)
    wanted = np.flatnonzero(takers)[first]
    _, first = np.unique(held.numbers[holders], return_index=True)
    present = np.flatnonzero(holders)[first]
    n = int(needed.n_elements[wanted].sum())
    (low, high), (needed_low, needed_high) = held.bounds, needed.bounds
    for row in present.tolist():
        sides = np.minimum(high[row], needed_high[wanted]) - np.maximum(low[row], needed_low[wanted])
        n -= int(np.prod(np.maximum(sides, 0), axis=1, dtype=np.int64).sum())
    return n
