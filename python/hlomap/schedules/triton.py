"""Blocks of a Triton kernel: one tile of the output each.

Which thread of a block has an element is Triton's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Expr, Shape
from ..errors import ShapeError
from .launch import BLOCK, Launch, ceil_div, delinearize, grid_map


def triton_block(shape: Shape, tile: Sequence[int], n_warps: int = 1, *, first_fastest: bool = False) -> Launch:
    """The launch that covers ``shape`` with tiles, in row-major order, or with the second last dimension fastest.

    The thread dims of the map are 0: it tells the block of an element, and its place in the tile as ranges.
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
    output = grid_map(1, blocks, index, shape.dimensions, ranges=sizes)
    return Launch("triton_block", 32 * n_warps, blocks, 1, output)
