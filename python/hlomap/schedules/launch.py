"""The record of a launch, and the building blocks of maps from threads.

Exactly one thread of a launch writes each element of the output, and exactly one reads each element of the hero's
operand, unless a field says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from .._core import Expr, IndexingMap, Shape, _delinearize
from ..base.devices import Device

LAUNCHES = 512
"""Launches to remember: layers of a model have kernels of equal shapes, as have a fused kernel and its parts."""

THREAD, BLOCK = Expr.dim(0), Expr.dim(3)


class Launch(NamedTuple):
    """The grid of one emitter with its maps, each from threads, blocks and steps of loops to elements."""

    emitter: str
    threads: int
    blocks: tuple[int, int, int]
    vector: int
    """The neighbouring elements that a thread handles at once, at most."""
    output: IndexingMap
    """The elements of the hero that a thread writes."""
    input: IndexingMap | None = None
    """The elements of the hero's operand that a thread reads; None if the hero's own maps tell."""
    shared_shape: tuple[int, ...] = ()
    shared_write: IndexingMap | None = None
    shared_read: IndexingMap | None = None


To: TypeAlias = tuple[Sequence[Expr | int], Sequence[int], Shape | None]
"""An index, its sizes, and an array with the same buffer as a row-major array of these sizes; see `grid_maps`."""
Condition: TypeAlias = tuple[Expr | int, int, int]


def memory_order(shape: Shape) -> Sequence[int]:
    """The dimensions, major to minor."""
    return range(shape.rank) if shape.layout is None else shape.layout.minor_to_major[::-1]


def memory_permutation(source: Shape, target: Shape, permutation: Sequence[int]) -> list[int]:
    """The permutation of dimensions in memory order for a permutation of logical dimensions."""
    place = {d: i for i, d in enumerate(memory_order(source))}
    return [place[permutation[d]] for d in memory_order(target)]


def ceil_div(a: int, b: int) -> int:
    """The quotient rounded up."""
    return -(-a // b)


def storage_bits(shape: Shape) -> int:
    """The bits of an element in memory; integers and floats below 8 bits are packed, truth values are not."""
    return 8 if shape.dtype == "pred" else shape.value_bits


def lacks_numbers(device: Device) -> str | None:
    """The numbers of a device that a schedule needs and lacks; None if all are known."""
    if not device.warp:
        return f"a schedule describes the threads of a GPU, and {device.name!r} has no threads"
    if device.n_multiprocessors < 1 or device.threads < 1:
        return (
            f"a schedule needs n_multiprocessors and threads of a device, found {device.n_multiprocessors} and "
            f"{device.threads} of {device.name!r}; state them in Device(...)"
        )
    return None


def n_resident_threads(device: Device) -> int:
    """The threads that the device holds at once."""
    return device.n_multiprocessors * device.threads


def delinearize(position: Expr, sizes: Sequence[int]) -> list[Expr]:
    """The row-major index of a position."""
    return _delinearize([position], [prod(sizes)], sizes)
