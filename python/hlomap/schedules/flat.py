"""Schedules in memory order: loop, concatenate, dynamic-update-slice, scatter; and tiles of a Triton kernel.

A thread handles ``unroll`` neighbouring positions of one array; the grid covers that array once.  A block of a Triton
kernel has one tile of the output; Triton chooses which thread handles which element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import gcd, prod

from .._core import Expr, IndexingMap, Shape, flat_thread_map, grid_maps
from ..base.devices import Device
from ..errors import ShapeError
from ..ops._shapes import require_int64
from .launch import BLOCK, LAUNCHES, THREAD, Launch, ceil_div, delinearize, n_resident_threads, storage_bits

_THREADS = 128
_WARP = 32


def unroll_factor(
    n_elements: int, output_bits: int, device: Device, *, vectorizes: bool = True, wide: bool = True
) -> int:
    """The number of neighbouring elements that a thread of a loop handles.

    ``vectorizes``: nothing in the fusion prevents XLA from unrolling.  ``wide``: 8 elements are allowed on Blackwell.
    """
    factor = 1
    if vectorizes and n_elements >= n_resident_threads(device):
        widest = 8 if wide and device.generation >= 10 and output_bits < 32 else 4
        factor = gcd(n_elements, widest)
    return max(factor, ceil_div(8, output_bits))


@lru_cache(LAUNCHES)
def loop(
    shape: Shape, unroll: int, device: Device, *, emitter: str = "loop", whole_warps: bool = False, covers: int = 0
) -> Launch:
    """The launch that covers ``shape`` once, or ``covers`` positions if those are more."""
    if unroll < 1:
        raise ShapeError(f"expected at least 1 element per thread as `unroll`, found {unroll}")
    n_threads = max(1, ceil_div(max(shape.n_elements, covers), unroll))
    threads = min(_THREADS, n_threads)
    if whole_warps:
        threads = ceil_div(threads, _WARP) * _WARP
    n_blocks = ceil_div(n_threads, threads)
    rows = ceil_div(n_blocks, device.max_blocks_x)
    blocks = (ceil_div(n_blocks, rows), rows, 1)
    output = flat_thread_map(shape, threads=threads, blocks=blocks, per_thread=require_int64(unroll))
    return Launch(emitter, threads, blocks, unroll, output)


def concatenate(operands: Sequence[Shape], dimension: int, operand: int, unroll: int, device: Device) -> Launch:
    """The launch of a concatenation, with the maps of one operand: every thread handles all operands in turn."""
    extents = [shape.dimensions[dimension] for shape in operands]
    unroll = gcd(unroll, *extents)
    longest = max(shape.n_elements for shape in operands)
    launch = loop(operands[operand], unroll, device, emitter="concatenate", covers=longest)
    start = sum(extents[:operand])
    moved = [e + start if i == dimension else e for i, e in enumerate(launch.output.results)]
    source = launch.output
    output = IndexingMap(source.dims, moved, ranges=source.ranges, constraints=source.constraints)
    return Launch(launch.emitter, launch.threads, launch.blocks, unroll, output, source)


def scatter(updates: Shape, unroll: int, device: Device) -> Launch:
    """The launch of a scatter over its updates ``[n, slice]``; the maps are those of the updates."""
    launch = loop(updates, gcd(unroll, _slice_elements(updates)), device, emitter="scatter", whole_warps=True)
    return Launch(launch.emitter, launch.threads, launch.blocks, launch.vector, launch.output, launch.output)


def indices_per_warp(n_indices: int, n_starts: int, index_bits: int, index_size: int, device: Device) -> int:
    """The number of neighbouring indices that one warp of a scatter with sorted indices handles."""
    per_warp = ceil_div(n_indices, max(4 * device.n_multiprocessors, n_starts))
    vector = max(1, 128 // index_bits)
    return ceil_div(per_warp, vector) * vector if index_size == 1 and per_warp > vector else per_warp


def sorted_scatter(updates: Shape, per_warp: int) -> Launch:
    """The launch of a scatter whose warps each handle ``per_warp`` neighbouring indices, one slice at a time."""
    n, n_slice = updates.dimensions[0], _slice_elements(updates)
    vector = gcd(n_slice, max(1, 128 // storage_bits(updates)))
    while vector > 1 and _WARP * vector > n_slice:
        vector //= 2
    blocks = (ceil_div(n, 4 * per_warp), 1, 1)
    s = Expr.range
    row = (BLOCK * 4 + THREAD // _WARP) * per_warp + s(0)
    column = (s(1) * _WARP + THREAD % _WARP) * vector + s(2)
    ranges = (per_warp, ceil_div(n_slice, _WARP * vector), vector)
    row_major = Shape(updates.dtype, updates.dimensions)
    (found,) = grid_maps(_THREADS, blocks, [([row, column], [n, n_slice], row_major)], ranges)
    return Launch("scatter", _THREADS, blocks, vector, found, found)


def _slice_elements(updates: Shape) -> int:
    if updates.rank < 1 or updates.n_elements < 1:
        raise ShapeError(f"expected updates [n, slice] with elements, found {updates}")
    return prod(updates.dimensions[1:])


def triton_block(shape: Shape, tile: Sequence[int], n_warps: int = 1, *, first_fastest: bool = False) -> Launch:
    """The launch that covers ``shape`` with tiles, in row-major order, or with the second last dimension fastest.

    The thread dims of the map are 0: the map gives the block of an element, and its place in the tile as ranges.
    """
    if len(tile) != shape.rank or any(size < 1 for size in tile) or n_warps < 1:
        raise ShapeError(f"expected a tile of {shape.rank} sizes of at least 1 for {shape}, found {list(tile)}")
    sizes = [min(size, max(1, whole)) for size, whole in zip(tile, shape.dimensions, strict=True)]
    counts = [max(1, ceil_div(whole, size)) for whole, size in zip(shape.dimensions, sizes, strict=True)]
    blocks = (prod(counts), 1, 1)
    order = list(range(shape.rank))
    if first_fastest and shape.rank >= 2:
        order[-2:] = order[:-3:-1]
    numbers = dict(zip(order, delinearize(BLOCK, [counts[d] for d in order]), strict=True))
    index = [numbers[d] * sizes[d] + Expr.range(d) for d in range(shape.rank)]
    (output,) = grid_maps(1, blocks, [(index, shape.dimensions, None)], sizes)
    return Launch("triton_block", 32 * n_warps, blocks, 1, output)
