"""Thread maps: the elements that each thread of a GPU grid processes, in the order of memory or as XLA schedules them.

:func:`thread_map` is the entry point.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from .._core import IndexingMap, Shape
from ..hardware import Device
from ..maps.flat_thread_map import flat_thread_map
from ..types import expect
from .launch import as_device
from .shapes import Options, launch_of_shape

__all__ = ["thread_map"]

_PARTS = ("output", "input", "shared_write", "shared_read")


def thread_map(
    shape: Shape,
    schedule: str | None = None,
    *,
    threads: int | Sequence[int] | None = None,
    blocks: int | Sequence[int] | None = None,
    per_thread: int | None = None,
    of: Literal["output", "input", "shared_write", "shared_read"] = "output",
    device: Device | str = "h100",
    unroll: int | None = None,
    permutation: Sequence[int] | None = None,
    reduce: Sequence[int] | None = None,
    tile: Sequence[int] | None = None,
    variant: str | None = None,
) -> IndexingMap:
    """The map from a thread of a grid to the elements of ``shape`` that it processes, in the order of memory."""
    if schedule is None:
        expect(Shape, shape, "thread_map", "an hlomap.Shape", "read text with hlomap.Shape.parse(text)")
        return flat_thread_map(
            shape, threads=128 if threads is None else threads, blocks=blocks, per_thread=per_thread or 1
        )
    launch = launch_of_shape(
        shape, schedule, as_device(device, "thread_map"), Options(unroll, permutation, reduce, tile, variant)
    )
    found: IndexingMap = getattr(launch, of)
    return found
