"""A NumPy reference for layouts: pad, reshape, transpose; and random layouts.

:func:`laid_out` is the reference of the layout tests.  It is independent of the library: it reads the fields of a
layout and rearranges an array, one tile after the other.
"""

from __future__ import annotations

import math
import random

import numpy as np

import hlomap as hm


def laid_out(array: np.ndarray, layout: hm.Layout, fill: int = 0) -> np.ndarray:
    """The buffer of an array by the definition of the format, with ``fill`` in all padding."""
    if layout.padded_dimensions:
        array = padded(array, layout.padded_dimensions, fill)
    array = array.transpose(layout.minor_to_major[::-1])
    for tile in layout.tiles:
        array = array.reshape((1,) * (len(tile) - array.ndim) + array.shape)
        first = array.ndim - len(tile)
        sizes, widths = list(array.shape[:first]), []
        carried = 1
        for size, width in zip(array.shape[first:], tile, strict=True):
            carried *= size
            if width is not None:
                sizes.append(carried)
                widths.append(width)
                carried = 1
        array = array.reshape(sizes)
        k = len(widths)
        counts = [math.ceil(size / width) for size, width in zip(sizes[first:], widths, strict=True)]
        whole = [count * width for count, width in zip(counts, widths, strict=True)]
        array = padded(array, [*sizes[:first], *whole], fill)
        cut = [part for pair in zip(counts, widths, strict=True) for part in pair]
        array = array.reshape([*sizes[:first], *cut])
        order = [*range(first), *range(first, first + 2 * k, 2), *range(first + 1, first + 2 * k, 2)]
        array = array.transpose(order)
    flat = array.reshape(-1)
    return np.pad(flat, (0, -len(flat) % layout.tail_padding_alignment), constant_values=fill)


def padded(array: np.ndarray, sizes: list[int] | tuple[int, ...], fill: int) -> np.ndarray:
    missing = [(0, size - have) for size, have in zip(sizes, array.shape, strict=True)]
    return np.pad(array, missing, constant_values=fill)


def positions(shape: hm.Shape) -> tuple[np.ndarray, np.ndarray]:
    """The position of every element, and for every position the row-major number of its element or -1."""
    n = shape.n_elements
    layout = shape.layout or hm.Layout(list(range(shape.rank))[::-1])
    held = laid_out(np.arange(n).reshape(shape.dimensions), layout, fill=-1)
    at = np.zeros(n, np.int64)
    at[held[held >= 0]] = np.flatnonzero(held >= 0)
    return at, held


def random_shape(rng: random.Random, *, largest: int = 2000, dtype: str = "s32", sizes: int = 9) -> hm.Shape:
    """A shape with at most ``largest`` positions and tiles of every kind; sizes of 0 and 1 are frequent."""
    while True:
        rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 5])
        dims = [
            rng.choice([1, rng.randint(2, sizes), rng.randint(2, sizes), rng.randint(2, sizes)]) for _ in range(rank)
        ]
        if rank and rng.random() < 0.03:
            dims[rng.randrange(rank)] = 0
        order = list(range(rank))
        rng.shuffle(order)
        tiles = [random_tile(rng, rank) for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3]))]
        tail = rng.choice([1, 1, 1, rng.randint(2, 50)])
        extra = [n + rng.choice([0, 0, 1, 3]) for n in dims] if rng.random() < 0.2 else []
        layout = hm.Layout(order, tiles=tiles, tail_padding_alignment=tail, padded_dimensions=extra)
        shape = hm.Shape(dtype, dims, layout)
        if shape.buffer_elements <= largest:
            return shape


def random_tile(rng: random.Random, rank: int) -> list[int | None]:
    length = rng.randint(1, rank + 2)
    tile: list[int | None] = [rng.choice([1, 2, 2, 3, 4, 8, rng.randint(1, 9)]) for _ in range(length)]
    if rng.random() < 0.3:
        for i in range(length - 1):
            if rng.random() < 0.4:
                tile[i] = None
    return tile


def indices(dims: tuple[int, ...]) -> np.ndarray:
    """All indices of an array, row by row."""
    return np.indices(dims).reshape(len(dims), math.prod(dims)).T.astype(np.int64)
