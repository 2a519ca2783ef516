"""The record of a launch, and the pieces that maps from threads are made of.

Of all threads of a launch, exactly one writes each element of the output, and exactly one reads each
element of the hero's operand, unless a field says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from .. import _core
from .._core import Expr, IndexingMap, Shape, linear_index, logical_index
from ..devices import Device
from ..maps.flat_thread_map import THREAD_DIMS

THREAD, BLOCK = Expr.dim(0), Expr.dim(3)


@dataclass(frozen=True)
class Launch:
    """The grid of one emitter with its maps, each from threads, blocks and steps of loops to elements."""

    emitter: str
    threads: int
    blocks: tuple[int, int, int]
    vector: int
    """The neighbouring elements that a thread handles at once, at most."""
    output: IndexingMap
    """The elements of the hero that a thread writes."""
    input: IndexingMap | None = None
    """The elements of the hero's operand that a thread reads; None where the hero's own maps tell."""
    shared_shape: tuple[int, ...] = ()
    shared_write: IndexingMap | None = None
    shared_read: IndexingMap | None = None


def grid_map(
    threads: int,
    blocks: Sequence[int],
    index: Sequence[Expr | int],
    sizes: Sequence[int],
    *,
    ranges: Sequence[int] = (),
    constraints: Sequence[tuple[Expr | int, int, int]] = (),
) -> IndexingMap:
    """The map from a grid to an index that stays within ``sizes``."""
    return grid_maps(threads, blocks, [(index, sizes)], ranges, constraints)[0]


def grid_maps(
    threads: int,
    blocks: Sequence[int],
    indices: Sequence[tuple[Sequence[Expr | int], Sequence[int]]],
    ranges: Sequence[int],
    constraints: Sequence[tuple[Expr | int, int, int]],
) -> list[IndexingMap]:
    """The maps from a grid to several indices where all of them stay within their sizes."""
    return _core.grid_maps(THREAD_DIMS, (threads, 1, 1, *blocks), indices, ranges, constraints)


def in_memory(m: IndexingMap, sizes: Sequence[int], shape: Shape) -> IndexingMap:
    """A map into ``shape`` for one, simplified, into a row-major array of these sizes that has the same buffer."""
    row_major = Shape("u8", sizes)
    if row_major.equals(Shape("u8", shape.dimensions, shape.layout), layout="meant"):
        return m
    positions = linear_index(row_major)
    return m.then(positions).then(logical_index(shape)).simplify(keep_point_dims=True, drop_unused=True)


def delinearize(position: Expr | int, sizes: Sequence[int]) -> list[Expr | int]:
    """The row-major index of a position; the first result has no upper bound."""
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    quotients = [position // stride for stride in strides]
    return [q if i == 0 else q % sizes[i] for i, q in enumerate(quotients)]


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up."""
    return -(-a // b)


def storage_bits(shape: Shape) -> int:
    """The bits of an element in memory; integers and floats below 8 bits are packed, truth values are not."""
    return 8 if shape.dtype == "pred" else shape.value_bits


def lacks_numbers(device: Device) -> str | None:
    """Which numbers that a schedule depends on are not known of a device; None where all are."""
    if device.n_multiprocessors < 1 or device.threads < 1:
        return (
            f"a schedule needs n_multiprocessors and threads of a device, found {device.n_multiprocessors} and "
            f"{device.threads} of {device.name!r}; state them in Device(...)"
        )
    return None


def n_resident_threads(device: Device) -> int:
    """The threads that the device holds at once."""
    return device.n_multiprocessors * device.threads
