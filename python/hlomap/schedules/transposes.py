"""Transposes through shared memory: tiled, and packed for elements below 32 bits.

Sizes and permutations are of dimensions in memory order, without unit dimensions and with neighbours merged
(:func:`merged`): dimension i of the output is dimension ``permutation[i]`` of the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import NamedTuple

from .._core import Expr, Shape, grid_maps
from ..base.devices import Device
from ..errors import ShapeError
from .launch import BLOCK, LAUNCHES, THREAD, Condition, Launch, To, ceil_div, delinearize, n_resident_threads

_THREADS = 128
_ROW, _COLUMN, _ELEMENT = Expr.range(0) * (_THREADS // 32) + THREAD // 32, THREAD % 32, Expr.range(1)
"""The place of a thread in a tile of 32 columns: its row at each step, its column, and the step among neighbours."""
Sizes = Sequence[int]
_Side = tuple[Sequence[To], Sizes, Sequence[Condition]]
"""The index in the array and in shared memory, ranges, conditions."""


def merged(sizes: Sizes, permutation: Sizes) -> tuple[list[int], list[int]]:
    """Sizes and permutation without unit dimensions, with neighbours that stay neighbours merged.

    >>> merged([2, 3, 1, 5], [2, 3, 0, 1])
    ([6, 5], [1, 0])
    """
    kept = [d for d, size in enumerate(sizes) if size != 1]
    follows = dict(pairwise(kept))
    groups: list[list[int]] = []
    for d in permutation:
        if groups and follows.get(groups[-1][-1]) == d:
            groups[-1].append(d)
        elif sizes[d] != 1:
            groups.append([d])
    by_input = sorted(groups)
    return [prod([sizes[d] for d in group]) for group in by_input], [by_input.index(group) for group in groups]


def tiled_refusal(sizes: Sizes, permutation: Sizes, bits: int) -> str | None:
    """Why XLA would not tile a transpose; None if it would."""
    rank = len(sizes)
    if rank < 2 or 0 in sizes:
        return "the transpose moves nothing"
    output = [sizes[d] for d in permutation]
    if permutation[-1] == rank - 1:
        row, least = bits * sizes[-1], min(sizes[-2], output[-2])
        if row > 64:
            return f"the minor dimension stays and has {row} bits, more than 64"
        return None if row * least >= 128 else f"the minor dimension stays, {row} * {least} bits are below 128"
    pair = (sizes[-1], output[-1])
    if bits < 8:
        return f"elements of {bits} bits: two threads would write one byte"
    if min(pair) >= 16 or (min(pair) >= 8 and prod(pair) >= 8192):
        return None
    return f"the minor dimensions {pair[0]} and {pair[1]} are too small"


@lru_cache(LAUNCHES)
def tiled(
    sizes: tuple[int, ...],
    permutation: tuple[int, ...],
    shapes: tuple[Shape, Shape],
    bits: int,
    device: Device,
    summed_bits: int = 0,
) -> Launch:
    """The launch of a tiled transpose from ``shapes[0]`` to ``shapes[1]``.

    ``summed_bits``: the bits of an element of all transposes that share the launch.
    """
    if len(sizes) < 2:
        raise ShapeError(f"expected a transpose that moves elements, found {shapes[0]} to {shapes[1]}")
    rank, last = len(sizes), len(sizes) - 1
    keeps_minor = permutation[-1] == last
    a, b = (last - 1, permutation[-2]) if keeps_minor else (last, permutation[-1])
    vector, edge = sizes[-1], 32
    if not keeps_minor:
        n_blocks = prod(ceil_div(size, 32) if d in (a, b) else size for d, size in enumerate(sizes))
        vector = _tiled_vector(n_blocks, (sizes[a], sizes[b]), bits, summed_bits or bits, device)
        edge = 32 * vector
    block = [1] * rank
    block[last] = vector
    block[a] = block[b] = edge
    counts = list(map(ceil_div, sizes, block))
    base = [e * size for e, size in zip(delinearize(BLOCK, counts), block, strict=True)]
    # A warp accesses neighbours along the minor dimension, or along the next one if the minor dimension stays.
    near = _COLUMN if keeps_minor else _COLUMN * vector + _ELEMENT

    def index(start: Sequence[Expr | int], row: int, column: int) -> list[Expr | int]:
        at = list(start)
        at[row] += _ROW
        at[column] += near
        if keeps_minor:
            at[last] += _ELEMENT
        return at

    target, none = index(base, a, b), [0] * rank
    shared_shape = list(block)
    shared_shape[last - keeps_minor] += 1
    moved = [target[d] for d in permutation], [sizes[d] for d in permutation], shapes[1]
    ranges = (prod(block) // (_THREADS * vector), vector)
    return _launch(
        "tiled_transpose",
        (_THREADS, (prod(counts), 1, 1)),
        vector,
        shared_shape,
        ([(index(base, b, a), sizes, shapes[0]), (index(none, a, b), shared_shape, None)], ranges, ()),
        ([moved, (index(none, b, a), shared_shape, None)], ranges, ()),
    )


def _tiled_vector(n_blocks: int, edges: tuple[int, int], bits: int, summed_bits: int, device: Device) -> int:
    """The edge of the square of elements that a thread would move, 1, 2 or 4."""
    budget = (128 if device.generation >= 10 else 48) << 10
    vector = max(1, 32 // bits)
    while vector > 1:
        busy = n_blocks * _THREADS >= vector * vector * n_resident_threads(device)
        fits = 32 * 33 * summed_bits * vector * vector <= budget * 8
        if busy and fits and edges[0] % vector == 0 and edges[1] % vector == 0:
            break
        vector //= 2
    return vector


class Packing(NamedTuple):
    """The tile of a packed transpose: edges of the minor dimensions of input and output, and of one between them."""

    vector: int
    minor: int
    middle: int
    other: int
    has_middle: bool


def pack(sizes: Sizes, permutation: Sizes, bits: int) -> Packing | str:
    """The tile of a packed transpose, or why there is none."""
    rank = len(sizes)
    if rank < 2 or 0 in sizes or permutation[-1] == rank - 1:
        return "the minor dimension stays"
    if bits >= 32:
        return f"elements of {bits} bits, not below 32"
    vector = 32 // bits
    has_middle = rank > 2 and permutation[-2] == rank - 2
    minor = min(sizes[-1], 32 * vector)
    middle = min(sizes[-2] if has_middle else 1, 32 * vector // minor)
    size = sizes[permutation[-1]]
    other = min(size, 32 * vector)
    if min(middle * minor, other) < 10 * vector:
        return f"a tile of {middle * minor} by {other} is too small"
    if any(n % vector for n in (middle * minor, other, size % other)):
        return f"a tile of {middle * minor} by {other} is not a multiple of {vector}"
    return Packing(vector, minor, middle, other, has_middle)


def packed(sizes: Sizes, permutation: Sizes, shapes: tuple[Shape, Shape], packing: Packing) -> Launch:
    """The launch of a packed transpose from ``shapes[0]`` to ``shapes[1]``."""
    rank, v = len(sizes), packing.vector
    edge = 32 * v
    minor, middle, other = rank - 1, rank - 2 if packing.has_middle else None, permutation[-1]
    block = [1] * rank
    block[minor], block[other] = packing.minor, packing.other
    if middle is not None:
        block[middle] = packing.middle
    counts = [ceil_div(sizes[d], block[d]) for d in permutation]
    base: list[Expr | int] = [0] * rank
    for d, e in zip(permutation, delinearize(BLOCK, counts), strict=True):
        base[d] = e * block[d]

    def at(row: Expr, column: Expr) -> list[Expr | int]:
        index = list(base)
        index[other] += row
        index[minor] += column % packing.minor
        if middle is not None:
            index[middle] += column // packing.minor
        return index

    def side(row: Expr, column: Expr, to: To, ranges: Sizes) -> _Side:
        shared = [row, (column + row // v * v) % edge], [edge, edge], None
        return [to, shared], ranges, [(row, 0, packing.other - 1), (column, 0, packing.middle * packing.minor - 1)]

    s = Expr.range
    warp, lane = THREAD // 32, THREAD % 32
    write = (s(0) * 4 + warp, lane * v + s(1))
    read = (lane * v + s(2), (s(0) * 4 + warp) * v + s(1))
    target = at(*read)
    moved = [target[d] for d in permutation], [sizes[d] for d in permutation], shapes[1]
    return _launch(
        "packed_transpose",
        (_THREADS, (prod(counts), 1, 1)),
        v,
        [edge, edge],
        side(*write, (at(*write), sizes, shapes[0]), (edge // 4, v)),
        side(*read, moved, (8, v, v)),
    )


def _launch(
    emitter: str, grid: tuple[int, tuple[int, int, int]], vector: int, shared_shape: Sizes, source: _Side, target: _Side
) -> Launch:
    threads, blocks = grid
    (read, shared_write), (written, shared_read) = (grid_maps(threads, blocks, *side) for side in (source, target))
    return Launch(emitter, *grid, vector, written, read, tuple(shared_shape), shared_write, shared_read)
