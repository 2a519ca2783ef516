"""The record of a launch, and the pieces that maps from threads are made of.

Of all threads of a launch, exactly one writes each element of the output, and exactly one reads each
element of the hero's operand, unless a field says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple, TypeAlias

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


class To(NamedTuple):
    """An index that stays within ``sizes``; of a row-major array of these sizes, whose buffer ``array`` has as well."""

    at: Sequence[Expr | int]
    sizes: Sequence[int]
    array: Shape | None = None


Condition: TypeAlias = tuple[Expr | int, int, int]


def grid_map(
    threads: int, blocks: Sequence[int], to: To, ranges: Sequence[int] = (), constraints: Sequence[Condition] = ()
) -> IndexingMap:
    """The map from a grid to an index: in the array, if there is one."""
    return grid_maps(threads, blocks, [to], ranges, constraints)[0]


def grid_maps(
    threads: int,
    blocks: Sequence[int],
    indices: Sequence[To],
    ranges: Sequence[int],
    constraints: Sequence[Condition] = (),
) -> list[IndexingMap]:
    """The maps from a grid to several indices where all of them stay within their sizes."""
    placed = [to if to.array is None else _in_dimensions(to, to.array) for to in indices]
    units = [(e, 0, 0) for to in indices if to.array is not None for e, size in zip(*to[:2], strict=True) if size == 1]
    pairs = [to[:2] for to in placed]
    maps = _core.grid_maps(THREAD_DIMS, (threads, 1, 1, *blocks), pairs, ranges, [*units, *constraints])
    return [m if to.array is None else _in_memory(m, to.sizes, to.array) for m, to in zip(maps, placed, strict=True)]


def _in_dimensions(to: To, array: Shape) -> To:
    """The index in the array, where its sizes are those of the array's dimensions in memory order, or of size 1."""
    sizes, layout = array.dimensions, array.layout
    order = [d for d in memory_order(array) if sizes[d] != 1]
    kept = [k for k, size in enumerate(to.sizes) if size != 1]
    if [sizes[d] for d in order] != [to.sizes[k] for k in kept] or (layout and layout.tiles):
        return to
    place = dict(zip(order, kept, strict=True))
    return To([to.at[place[d]] if d in place else 0 for d in range(len(sizes))], sizes)


def _in_memory(m: IndexingMap, sizes: Sequence[int], array: Shape) -> IndexingMap:
    positions = m.then(linear_index(Shape("u8", sizes)))
    return positions.then(logical_index(array)).simplify(keep_point_dims=True, drop_unused=True)


def memory_order(shape: Shape) -> Sequence[int]:
    """The dimensions, major to minor."""
    return range(shape.rank) if shape.layout is None else shape.layout.minor_to_major[::-1]


def memory_permutation(source: Shape, target: Shape, permutation: Sequence[int]) -> list[int]:
    """The permutation of dimensions in memory order, for one of logical dimensions."""
    place = {d: i for i, d in enumerate(memory_order(source))}
    return [place[permutation[d]] for d in memory_order(target)]


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
