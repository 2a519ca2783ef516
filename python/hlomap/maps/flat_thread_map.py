"""Thread maps in the order of memory: the elements of an array that each thread of a GPU grid processes.

:func:`flat_thread_map` is the entry point.  Of n threads with v elements each, thread t processes the elements at the
positions ``(c * n + t) * v + j`` in memory, for every chunk c and every j below v.  Each element belongs to
exactly one thread.  The result is an ordinary map with six dimensions, so it composes with the maps from the array's
elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Expr, IndexingMap, Shape, logical_index
from ..errors import ShapeError
from ..types import expect, expect_items

THREAD_DIMS = ("th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z")


def flat_thread_map(
    shape: Shape,
    /,
    *,
    threads: int | Sequence[int] = 128,
    blocks: int | Sequence[int] | None = None,
    per_thread: int = 1,
) -> IndexingMap:
    """The map from a thread of a grid of your own to the elements that it processes, in the order of memory.

    ``threads`` (per block, 128 by default) and ``blocks`` are sizes along x, y and z; missing sizes are 1.  Without
    ``blocks`` there are as many blocks along x as cover the array once.  Each thread processes ``per_thread``
    neighbouring elements.  A grid smaller than the array processes it in chunks; the chunk is the first range.  Padding
    and positions beyond the end of the buffer belong to no thread.

    Raises :class:`ShapeError` for a shape that is not an array, and for sizes or ``per_thread`` below 1.  For the grids
    that XLA makes see :func:`hlomap.thread_map`.

    >>> print(flat_thread_map(Shape.parse("f32[10,30]"), threads=32, per_thread=2))
    (th_x, th_y, th_z, bl_x, bl_y, bl_z)[s0] -> ((th_x + bl_x * 32) floordiv 15,
      ((th_x + bl_x * 2) mod 15) * 2 + s0), domain: th_x in [0, 31], th_y in [0, 0], th_z in [0, 0], bl_x in [0, 4],
      bl_y in [0, 0], bl_z in [0, 0], s0 in [0, 1], th_x * 2 + bl_x * 64 + s0 in [0, 299]
    """
    expect(Shape, shape, "flat_thread_map", "a Shape", "read text with hm.Shape.parse(text)")
    expect(int, per_thread, "flat_thread_map", "an int as `per_thread`")
    if not shape.is_array or per_thread < 1:
        raise ShapeError(f"expected an array and at least 1 element per thread, found {shape} and {per_thread}")
    positions = logical_index(shape)
    n_positions = positions.dims[0].upper + 1
    block = _three_sizes(threads, "threads")
    if blocks is None:
        blocks = max(1, -(-n_positions // (prod(block) * per_thread)))
    sizes = [*block, *_three_sizes(blocks, "blocks")]
    n_threads = prod(sizes)
    n_chunks = max(1, -(-n_positions // (n_threads * per_thread)))
    thread: Expr | int = 0
    stride = 1
    for i, size in enumerate(sizes):
        thread = Expr.dim(i) * stride + thread if size > 1 else thread
        stride *= size
    position = (Expr.range(0) * n_threads + thread) * per_thread + Expr.range(1)
    grid = IndexingMap(
        [(name, 0, size - 1) for name, size in zip(THREAD_DIMS, sizes, strict=True)],
        [position],
        ranges=[(0, n_chunks - 1), (0, per_thread - 1)],
        constraints=[(position, 0, n_positions - 1)],
    )
    return grid.then(positions).simplify(keep_point_dims=True, drop_unused=True)


def _three_sizes(given: int | Sequence[int], argument: str) -> list[int]:
    takes = f"an int, or up to three along x, y and z, as `{argument}`"
    sizes = [given] if isinstance(given, int) else expect_items(int, given, "flat_thread_map", takes)
    if len(sizes) > 3 or min(sizes, default=0) < 1:
        raise ShapeError(f"expected at most 3 grid sizes, each at least 1, found {sizes}")
    return sizes + [1] * (3 - len(sizes))
