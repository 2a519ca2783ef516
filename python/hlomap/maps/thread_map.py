"""Thread maps: which elements of an array each thread of a GPU grid has.

:func:`thread_map` is the way in.  The law: thread t of all threads has the elements at the positions
``(c * n + t) * v + j`` in memory, for every chunk c and every j below v, of n threads that have v neighbours each.
The result is an ordinary map with six dimensions, so that it composes with what the array's elements read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from .._core import Expr, IndexingMap, Shape, logical_index
from ..errors import ShapeError
from ..types import expect, expect_items

__all__ = ["THREAD_DIMS", "thread_map"]

THREAD_DIMS = ("th_x", "th_y", "th_z", "bl_x", "bl_y", "bl_z")


def thread_map(
    shape: Shape, *, threads: int | Sequence[int] = 128, blocks: int | Sequence[int] | None = None, per_thread: int = 1
) -> IndexingMap:
    """From a thread of a grid to the elements of ``shape`` that it has, in the order in which they lie in memory.

    ``threads`` and ``blocks`` are sizes along x, y and z; what is left out is 1, and without ``blocks`` there are as
    many along x as cover the array once.  ``per_thread`` neighbours belong to one thread; a smaller grid takes the
    array in chunks, whose number is the first range.  Positions that are padding or
    beyond the end belong to no thread.

    Raises :class:`ShapeError` for a grid without threads, or a shape that is no array.

    >>> import hlomap as hm
    >>> print(thread_map(hm.Shape.parse("f32[10,30]"), threads=32, per_thread=2))
    (th_x, th_y, th_z, bl_x, bl_y, bl_z)[s0] -> ((th_x + bl_x * 32) floordiv 15,
      ((th_x + bl_x * 2) mod 15) * 2 + s0), domain: th_x in [0, 31], th_y in [0, 0], th_z in [0, 0], bl_x in [0, 4],
      bl_y in [0, 0], bl_z in [0, 0], s0 in [0, 1], th_x * 2 + bl_x * 64 + s0 in [0, 299]
    """
    expect(Shape, shape, "thread_map", "an hlomap.Shape", "read text with hlomap.Shape.parse(text)")
    expect(int, per_thread, "thread_map", "an int as `per_thread`")
    if not shape.is_array or per_thread < 1:
        raise ShapeError(f"threads over {shape}, {per_thread} elements each")
    positions = logical_index(shape)
    n_positions = positions.dims[0].upper + 1
    block = _sizes(threads, "threads")
    if blocks is None:
        blocks = max(1, -(-n_positions // (prod(block) * per_thread)))
    sizes = [*block, *_sizes(blocks, "blocks")]
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


def _sizes(given: int | Sequence[int], argument: str) -> list[int]:
    takes = f"an int, or up to three along x, y and z, as `{argument}`"
    sizes = [given] if isinstance(given, int) else expect_items(int, given, "thread_map", takes)
    if len(sizes) > 3 or min(sizes, default=0) < 1:
        raise ShapeError(f"a grid of sizes {sizes}")
    return sizes + [1] * (3 - len(sizes))
