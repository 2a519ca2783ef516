"""Converts layouts to and from NumPy strides, CuTe's nested shape:stride, and linear layouts over bits.

All three notations give each mixed-radix digit of an index a stride in memory (read :func:`digits` first), so a layout
converts exactly if it has such strides; otherwise the result is an :class:`Unknown` with the reason.  The way back
searches for a dimension order and tiles with the same positions.  No elements are read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .._core import Layout, Shape, strides
from ..answers import Unknown
from ..errors import ShapeError

Nested: TypeAlias = "int | tuple[Nested, ...]"


class Digit(NamedTuple):
    """One mixed-radix digit of an index: its size, its weight in the index, and its stride in memory, in elements."""

    size: int
    weight: int
    stride: int


def digits(shape: Shape) -> tuple[tuple[Digit, ...], ...] | Unknown:
    """The digits of each dimension's index, minor first; a dimension of size 1 has none.

    Unknown where a tile splits a dimension unevenly.

    >>> digits(Shape.parse("f32[4,6]{1,0:T(2,2)}"))[1]
    (Digit(size=2, weight=1, stride=1), Digit(size=3, weight=2, stride=4))
    >>> digits(Shape.parse("f32[3,5]{1,0:T(2,2)}"))
    Unknown(reason='a tile of size 2 splits dimension 0 of size 3 unevenly')
    """
    found = strides(shape)
    if isinstance(found, str):
        return Unknown(found)
    return tuple(tuple(Digit(*digit) for digit in dim_digits) for dim_digits in found)


# ------------------------------------------------------------------------------------------------------ NumPy strides


def to_strides(shape: Shape) -> tuple[int, ...] | Unknown:
    """The strides in bytes with which a NumPy view of the buffer is the array.

    Unknown where a dimension has more than one stride, or elements do not take whole bytes.

    >>> to_strides(Shape.parse("f32[3,5]{0,1}"))
    (4, 12)
    >>> to_strides(Shape.parse("f32[16,256]{1,0:T(8,128)}"))
    Unknown(reason='dimension 0 has 2 strides')
    """
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.element_bits % 8:
        return Unknown(f"elements of {shape.element_bits} bits do not take whole bytes")
    n_bytes = shape.element_bits // 8
    result = []
    for d, dim_digits in enumerate(found):
        if len(dim_digits) > 1:
            return Unknown(f"dimension {d} has {len(dim_digits)} strides")
        result.append(dim_digits[0].stride * n_bytes if dim_digits else n_bytes)
    return tuple(result)


def from_strides(dtype: str, dimensions: Sequence[int], strides: Sequence[int]) -> Shape | Unknown:
    """The shape whose layout has these strides, in bytes as in ``array.strides``.

    Gaps become padded dimensions.  Unknown where no layout has them: zero or negative strides, overlapping elements.

    >>> import numpy as np
    >>> a = np.zeros((4, 6), np.float32)
    >>> print(from_strides("f32", (6, 4), a.T.strides))
    f32[6,4]{0,1}
    >>> print(from_strides("f32", (4, 3), a[:, :3].strides).layout.padded_dimensions)
    (4, 6)
    >>> from_strides("f32", (4, 6), (24, 0))
    Unknown(reason='a stride of 0 puts several elements at one position')
    """
    if len(dimensions) != len(strides):
        raise ShapeError(f"expected a stride for each of {len(dimensions)} dimensions, found {len(strides)}")
    n_bytes = Shape(dtype, []).element_bits // 8
    if any(stride % n_bytes for size, stride in zip(dimensions, strides, strict=True) if size > 1):
        return Unknown(f"strides {tuple(strides)} are not multiples of {n_bytes} bytes")
    return _shape_from_digits(
        dtype,
        dimensions,
        [[(size, stride // n_bytes)] for size, stride in zip(dimensions, strides, strict=True)],
    )


# --------------------------------------------------------------------------------------------------------------- CuTe


@dataclass(frozen=True, slots=True)
class CuteLayout:
    """A CuTe layout ``shape:stride``.

    Both nest alike and have one mode for each dimension; the first entry of a mode is its fastest digit.
    """

    shape: Nested
    stride: Nested

    def __post_init__(self) -> None:
        if not _nest_alike(self.shape, self.stride):
            raise ShapeError(f"shape {_cute_text(self.shape)} and stride {_cute_text(self.stride)} nest differently")

    def __str__(self) -> str:
        return f"{_cute_text(self.shape)}:{_cute_text(self.stride)}"

    @staticmethod
    def parse(text: str) -> CuteLayout:
        """Parses text such as ``(3,(2,4)):(1,(3,6))``.

        >>> print(CuteLayout.parse("((2, 2), 3) : ((1, 6), 2)"))
        ((2,2),3):((1,6),2)
        """
        shape, colon, stride = text.partition(":")
        if not colon:
            raise ShapeError(f"expected shape:stride, found {text!r}")
        return CuteLayout(_parse_nested(shape), _parse_nested(stride))


def to_cute(shape: Shape) -> CuteLayout | Unknown:
    """The CuTe layout that maps the indices of an array to positions in its buffer.

    >>> print(to_cute(Shape.parse("f32[16,256]{1,0:T(8,128)}")))
    ((8,2),(128,2)):((128,2048),(1,1024))
    >>> print(to_cute(Shape.parse("f32[3,5]{0,1}")))
    (3,5):(1,3)
    """
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.n_elements == 0:
        return Unknown("the array has no elements")
    sizes, steps = [], []
    for dim_digits in found:
        sizes.append(_unwrap([digit.size for digit in dim_digits] or [1]))
        steps.append(_unwrap([digit.stride for digit in dim_digits] or [0]))
    return CuteLayout(tuple(sizes), tuple(steps))


def from_cute(dtype: str, layout: CuteLayout | str) -> Shape | Unknown:
    """The shape with the same positions; each mode of the top level is a dimension.

    Unknown where no dimension order and tiles give them: broadcasts, overlaps, and gaps that padding does not explain.

    >>> print(from_cute("f32", "((8,2),(128,2)):((128,2048),(1,1024))"))
    f32[16,256]{1,0:T(8,128)}
    >>> print(from_cute("bf16", "((2,4,2),(128,2)):((1,256,2048),(2,1024))"))
    bf16[16,256]{1,0:T(8,128)(2,1)}
    """
    if isinstance(layout, str):
        layout = CuteLayout.parse(layout)
    modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    steps = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    digits_by_dim = [list(zip(_flatten(m), _flatten(s), strict=True)) for m, s in zip(modes, steps, strict=True)]
    if any(size < 1 for dim_digits in digits_by_dim for size, _ in dim_digits):
        return Unknown(f"{layout} has a size below 1")
    sizes = []
    for dim_digits in digits_by_dim:
        size = 1
        for n, _ in dim_digits:
            size *= n
        sizes.append(size)
    return _shape_from_digits(dtype, sizes, digits_by_dim)


def _nest_alike(a: Nested, b: Nested) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_nest_alike(x, y) for x, y in zip(a, b, strict=True))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def _flatten(value: Nested) -> list[int]:
    return [value] if isinstance(value, int) else [x for part in value for x in _flatten(part)]


def _unwrap(values: list[int]) -> Nested:
    return values[0] if len(values) == 1 else tuple(values)


def _cute_text(value: Nested) -> str:
    return str(value) if isinstance(value, int) else "(" + ",".join(map(_cute_text, value)) + ")"


_MAX_DEPTH = 32


def _parse_nested(text: str) -> Nested:
    """Parses nested tuples of integers."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    at = 0

    def value(depth: int) -> Nested:
        nonlocal at
        token = tokens[at] if at < len(tokens) else "the end"
        at += 1
        if token == "(" and depth < _MAX_DEPTH:
            parts: list[Nested] = []
            while at < len(tokens) and tokens[at] != ")":
                parts.append(value(depth + 1))
                if at < len(tokens) and tokens[at] == ",":
                    at += 1
                elif at >= len(tokens) or tokens[at] != ")":
                    break
            if at >= len(tokens):
                raise ShapeError(f"expected `)`, found the end of {text!r}")
            if tokens[at] != ")":
                raise ShapeError(f"expected `,` or `)`, found {tokens[at]!r} in {text!r}")
            at += 1
            return tuple(parts)
        if not token.lstrip("-").isdecimal() or len(token) > 20:
            raise ShapeError(f"expected an integer or `(`, found {token!r} in {text!r}")
        return int(token)

    found = value(0)
    if at != len(tokens):
        raise ShapeError(f"expected the end, found {tokens[at]!r} in {text!r}")
    return found


# ------------------------------------------------------------------------------------------------- linear layouts


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """A linear layout over GF(2), as in Triton: ``bases[b]`` is the contribution of bit b of the position to the index.

    The index at a position is the exclusive or of the bases of its set bits.
    """

    bases: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return "offset = [" + ", ".join(str(list(basis)) for basis in self.bases) + "]"


def to_linear_layout(shape: Shape) -> LinearLayout | Unknown:
    """The linear layout from the bits of a position to the index of the element there.

    Unknown unless all sizes are powers of two and there is no padding.

    >>> print(to_linear_layout(Shape.parse("f32[4,4]{1,0:T(2,2)}")))
    offset = [[0, 1], [1, 0], [0, 2], [2, 0]]
    >>> to_linear_layout(Shape.parse("f32[6]"))
    Unknown(reason='dimension 0 of size 6 is not a power of two')
    """
    for d, size in enumerate(shape.dimensions):
        if size < 1 or size & (size - 1):
            return Unknown(f"dimension {d} of size {size} is not a power of two")
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.buffer_elements != shape.n_elements:
        return Unknown(f"{shape.buffer_elements - shape.n_elements} positions are padding")
    by_position = {}
    for d, dim_digits in enumerate(found):
        for digit in dim_digits:
            for bit in range(digit.size.bit_length() - 1):
                basis = [0] * shape.rank
                basis[d] = digit.weight << bit
                by_position[digit.stride << bit] = tuple(basis)
    return LinearLayout(tuple(by_position[position] for position in sorted(by_position)))


def from_linear_layout(dtype: str, layout: LinearLayout | Sequence[Sequence[int]]) -> Shape | Unknown:
    """The shape with the same positions.

    Unknown for a basis with several bits (a swizzle) or none (a broadcast).

    >>> print(from_linear_layout("f32", [[0, 1], [1, 0], [0, 2], [2, 0]]))
    f32[4,4]{1,0:T(2,2)}
    >>> from_linear_layout("f32", [[0, 1], [1, 1]])
    Unknown(reason='basis 1 has more than one bit: [1, 1]')
    """
    bases = [list(basis) for basis in (layout.bases if isinstance(layout, LinearLayout) else layout)]
    rank = len(bases[0]) if bases else 0
    if any(len(basis) != rank for basis in bases):
        raise ShapeError(f"expected {rank} coordinates in each basis, as in the first one")
    by_weight: list[dict[int, int]] = [{} for _ in range(rank)]
    for b, basis in enumerate(bases):
        entries = [(d, weight) for d, weight in enumerate(basis) if weight]
        if not entries:
            return Unknown(f"basis {b} is zero: several positions hold one element")
        if len(entries) > 1 or entries[0][1] < 0 or entries[0][1].bit_count() > 1:
            return Unknown(f"basis {b} has more than one bit: {basis}")
        d, weight = entries[0]
        if weight in by_weight[d]:
            return Unknown(f"basis {b} repeats another one: {basis}")
        by_weight[d][weight] = 1 << b
    for d, weights in enumerate(by_weight):
        if sorted(weights) != [1 << i for i in range(len(weights))]:
            return Unknown(f"no basis has one of the bits of dimension {d}")
    digits_by_dim = [[(2, weights[weight]) for weight in sorted(weights)] for weights in by_weight]
    return _shape_from_digits(dtype, [1 << len(weights) for weights in by_weight], digits_by_dim)


# ------------------------------------------------------------------------------------- from strides to order and tiles


class _Piece(NamedTuple):
    """A digit in memory: its dimension, its size, and its number among the digits of the dimension, minor first."""

    dim: int
    size: int
    number: int


def _shape_from_digits(
    dtype: str, sizes: Sequence[int], digits_by_dim: Sequence[Sequence[tuple[int, int]]]
) -> Shape | Unknown:
    """The shape of these sizes whose dimensions have these digits (size, stride), minor first."""
    if 0 in sizes:
        return Shape(dtype, sizes)
    by_stride: list[tuple[int, _Piece]] = []
    for d, dim_digits in enumerate(digits_by_dim):
        joined: list[tuple[int, int]] = []
        for size, stride in dim_digits:
            if size == 1:
                continue
            if stride <= 0:
                return Unknown(f"a stride of {stride}" + " puts several elements at one position" * (stride == 0))
            if joined and joined[-1][0] * joined[-1][1] == stride:
                joined[-1] = (joined[-1][0] * size, joined[-1][1])
            else:
                joined.append((size, stride))
        by_stride += [(stride, _Piece(d, size, k)) for k, (size, stride) in enumerate(joined)]
    by_stride.sort()
    # From minor to major, each piece starts where the one before ends, or after the padding of a whole dimension.
    padded = list(sizes)
    expected = 1
    for i, (stride, piece) in enumerate(by_stride):
        if stride != expected:
            before = by_stride[i - 1][1] if i else None
            whole = before is not None and sum(1 for _, p in by_stride if p.dim == before.dim) == 1
            if before is None or not whole or stride % (expected // before.size) or stride < expected:
                return Unknown(f"dimension {piece.dim} has a stride of {stride}, expected {expected}")
            padded[before.dim] = stride // (expected // before.size)
            expected = stride
        expected *= piece.size
    pieces = [piece for _, piece in reversed(by_stride)]
    found = _find_tiles(pieces, [_STEPS])
    if found is None:
        return Unknown("the search found no dimension order and tiles with these positions")
    order, tiles = found
    # Dimensions of size 1 have no piece; they come first in the order, where no tile reaches them.
    ones = [d for d in range(len(sizes)) if d not in order]
    whole_order = sorted([*order, *ones]) if not tiles and order == sorted(order) else ones + order
    layout = Layout(
        whole_order[::-1],
        tiles=_insert_unit_entries(tiles, len(order)),
        padded_dimensions=padded if padded != list(sizes) else (),
    )
    return Shape(dtype, sizes, layout)


_STEPS = 2000  # tiles that the search tries


def _find_tiles(pieces: list[_Piece], budget: list[int]) -> tuple[list[int], list[list[int]]] | None:
    """The order of dimensions, major to minor, and the tiles that split them into these pieces.

    The search undoes the last tile first: it split the last k pieces off k earlier ones in the same order, each the
    next higher digit of its dimension; pieces between those got tile entries of 1.  Of several solutions the one with
    the fewest and shortest tiles is returned.
    """
    if len({piece.dim for piece in pieces}) == len(pieces):
        return [piece.dim for piece in pieces], []
    best: tuple[list[int], list[list[int]]] | None = None
    for k in range(len(pieces) // 2, 0, -1):
        budget[0] -= 1
        if budget[0] < 0:
            return best
        inner, rest = pieces[-k:], pieces[:-k]
        at: list[int] = []
        for piece in inner:
            higher = (i for i, p in enumerate(rest) if (p.dim, p.number) == (piece.dim, piece.number + 1))
            i = next(higher, -1)
            if i < 0 or (at and i <= at[-1]):
                break
            at.append(i)
        if len(at) < k:
            continue
        tile = [1] * (len(rest) - at[0])
        joined = {(piece.dim, piece.number + 1) for piece in inner}
        for i, piece in zip(at, inner, strict=True):
            tile[i - at[0]] = piece.size
            rest[i] = _Piece(piece.dim, rest[i].size * piece.size, piece.number + 1)
        # Each lower digit that was joined to the next reduces a digit's number by one.
        rest = [p._replace(number=p.number - sum(d == p.dim and n <= p.number for d, n in joined)) for p in rest]
        outer = _find_tiles(rest, budget)
        if outer is not None:
            found = outer[0], [*outer[1], tile]
            best = min(best or found, found, key=_tile_cost)
    return best


def _tile_cost(solution: tuple[list[int], list[list[int]]]) -> tuple[int, int]:
    order, tiles = solution
    return len(tiles), sum(map(len, _insert_unit_entries(tiles, len(order))))


def _insert_unit_entries(tiles: list[list[int]], rank: int) -> list[list[int]]:
    """The tiles with an entry of 1 for each tile dimension of size 1 that earlier tiles have added."""
    is_one = [False] * rank
    result = []
    for tile in tiles:
        movable = [i for i, one in enumerate(is_one) if not one]
        start = movable[-len(tile)]
        entries = iter(tile)
        whole = [1 if one else next(entries) for one in is_one[start:]]
        result.append(whole)
        is_one = is_one + [n == 1 for n in whole]
    return result
