"""Layouts as others write them, and back: NumPy strides, CuTe's nested shape:stride, linear layouts over bits.

All three say how far a digit of an index moves the position, so each has a form exactly where the layout has strides
(read :func:`digits`); elsewhere the answer is an :class:`Unknown` with the reason.  The way back finds the order and
the tiles that give the same positions.  Nothing here looks at elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .._core import Layout, Shape, strides
from ..errors import ShapeError
from ..types import Unknown

__all__ = [
    "CuteLayout",
    "Digit",
    "LinearLayout",
    "Nested",
    "digits",
    "from_cute",
    "from_linear_layout",
    "from_strides",
    "to_cute",
    "to_linear_layout",
    "to_strides",
]

Nested: TypeAlias = "int | tuple[Nested, ...]"


class Digit(NamedTuple):
    """One digit of an index: how many values, what one more adds to the index, and to the position."""

    size: int
    weight: int
    stride: int


def digits(shape: Shape) -> tuple[tuple[Digit, ...], ...] | Unknown:
    """For each dimension the digits of its index, minor first; a dimension of size 1 has none.

    Unknown where a tile cuts a dimension unevenly.

    >>> digits(Shape.parse("f32[4,6]{1,0:T(2,2)}"))[1]
    (Digit(size=2, weight=1, stride=1), Digit(size=3, weight=2, stride=4))
    >>> digits(Shape.parse("f32[3,5]{1,0:T(2,2)}"))
    Unknown(reason='a tile of size 2 splits dimension 0 of size 3 unevenly')
    """
    found = strides(shape)
    if isinstance(found, str):
        return Unknown(found)
    return tuple(tuple(Digit(*digit) for digit in of_dim) for of_dim in found)


# ------------------------------------------------------------------------------------------------------ NumPy strides


def to_strides(shape: Shape) -> tuple[int, ...] | Unknown:
    """The strides in bytes of a NumPy view of the buffer that is the array.

    Unknown where a dimension has more than one stride, or elements are no whole bytes.

    >>> to_strides(Shape.parse("f32[3,5]{0,1}"))
    (4, 12)
    >>> to_strides(Shape.parse("f32[16,256]{1,0:T(8,128)}"))
    Unknown(reason='dimension 0 has 2 strides')
    """
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.element_bits % 8:
        return Unknown(f"elements of {shape.element_bits} bits")
    n_bytes = shape.element_bits // 8
    result = []
    for d, of_dim in enumerate(found):
        if len(of_dim) > 1:
            return Unknown(f"dimension {d} has {len(of_dim)} strides")
        result.append(of_dim[0].stride * n_bytes if of_dim else n_bytes)
    return tuple(result)


def from_strides(dtype: str, dimensions: Sequence[int], strides: Sequence[int]) -> Shape | Unknown:
    """The shape whose elements lie at these strides, in bytes, as ``array.strides`` has them.

    Gaps become padded dimensions.  Unknown where no layout does that: a stride of 0, a negative one, elements that
    overlap.

    >>> import numpy as np
    >>> a = np.zeros((4, 6), np.float32)
    >>> print(from_strides("f32", (6, 4), a.T.strides))
    f32[6,4]{0,1}
    >>> print(from_strides("f32", (4, 3), a[:, :3].strides).layout.padded_dimensions)
    (4, 6)
    >>> from_strides("f32", (4, 6), (24, 0))
    Unknown(reason='a stride of 0: several elements in one place')
    """
    if len(dimensions) != len(strides):
        raise ShapeError(f"strides: {len(strides)} for {len(dimensions)} dimensions")
    n_bytes = Shape(dtype, []).element_bits // 8
    if any(stride % n_bytes for size, stride in zip(dimensions, strides, strict=True) if size > 1):
        return Unknown(f"strides {tuple(strides)} are no multiples of {n_bytes} bytes")
    return _placed(
        dtype,
        dimensions,
        [[(size, stride // n_bytes)] for size, stride in zip(dimensions, strides, strict=True)],
    )


# --------------------------------------------------------------------------------------------------------------- CuTe


@dataclass(frozen=True, slots=True)
class CuteLayout:
    """A CuTe layout ``shape:stride``: nested alike, one mode for each dimension; in a mode the first counts fastest."""

    shape: Nested
    stride: Nested

    def __post_init__(self) -> None:
        if not _alike(self.shape, self.stride):
            raise ShapeError(f"shape {_cute_text(self.shape)} and stride {_cute_text(self.stride)} nest differently")

    def __str__(self) -> str:
        return f"{_cute_text(self.shape)}:{_cute_text(self.stride)}"

    @staticmethod
    def parse(text: str) -> CuteLayout:
        """Reads ``(3,(2,4)):(1,(3,6))``.

        >>> print(CuteLayout.parse("((2, 2), 3) : ((1, 6), 2)"))
        ((2,2),3):((1,6),2)
        """
        shape, colon, stride = text.partition(":")
        if not colon:
            raise ShapeError(f"expected shape:stride, found {text!r}")
        return CuteLayout(_nested(shape), _nested(stride))


def to_cute(shape: Shape) -> CuteLayout | Unknown:
    """The CuTe layout of an array: coordinates are its indices, values positions in the buffer.

    >>> print(to_cute(Shape.parse("f32[16,256]{1,0:T(8,128)}")))
    ((8,2),(128,2)):((128,2048),(1,1024))
    >>> print(to_cute(Shape.parse("f32[3,5]{0,1}")))
    (3,5):(1,3)
    """
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.n_elements == 0:
        return Unknown("an array without elements")
    sizes, steps = [], []
    for of_dim in found:
        sizes.append(_bare([digit.size for digit in of_dim] or [1]))
        steps.append(_bare([digit.stride for digit in of_dim] or [0]))
    return CuteLayout(tuple(sizes), tuple(steps))


def from_cute(dtype: str, layout: CuteLayout | str) -> Shape | Unknown:
    """The shape with the same positions; a mode of the top level is a dimension.

    Unknown where no order and tiles give them: broadcasts, overlaps, and gaps that no padding makes.

    >>> print(from_cute("f32", "((8,2),(128,2)):((128,2048),(1,1024))"))
    f32[16,256]{1,0:T(8,128)}
    >>> print(from_cute("bf16", "((2,4,2),(128,2)):((1,256,2048),(2,1024))"))
    bf16[16,256]{1,0:T(8,128)(2,1)}
    """
    if isinstance(layout, str):
        layout = CuteLayout.parse(layout)
    modes = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    steps = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    of_dims = [list(zip(_flat(m), _flat(s), strict=True)) for m, s in zip(modes, steps, strict=True)]
    if any(size < 1 for of_dim in of_dims for size, _ in of_dim):
        return Unknown(f"a size below 1 in {layout}")
    sizes = []
    for of_dim in of_dims:
        size = 1
        for n, _ in of_dim:
            size *= n
        sizes.append(size)
    return _placed(dtype, sizes, of_dims)


def _alike(a: Nested, b: Nested) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b, strict=True))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def _flat(value: Nested) -> list[int]:
    return [value] if isinstance(value, int) else [x for part in value for x in _flat(part)]


def _bare(values: list[int]) -> Nested:
    return values[0] if len(values) == 1 else tuple(values)


def _cute_text(value: Nested) -> str:
    return str(value) if isinstance(value, int) else "(" + ",".join(map(_cute_text, value)) + ")"


_DEEPEST = 32


def _nested(text: str) -> Nested:
    """Integers in parentheses, with commas."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    at = 0

    def value(depth: int) -> Nested:
        nonlocal at
        token = tokens[at] if at < len(tokens) else "the end"
        at += 1
        if token == "(" and depth < _DEEPEST:
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
    """A linear layout over bits, as Triton has them: bit b of the position moves the index by ``bases[b]``.

    The index at a position is the exclusive or of the bases of its set bits.
    """

    bases: tuple[tuple[int, ...], ...]

    def __str__(self) -> str:
        return "offset = [" + ", ".join(str(list(basis)) for basis in self.bases) + "]"


def to_linear_layout(shape: Shape) -> LinearLayout | Unknown:
    """The linear layout from the bits of a position to the index of the element there.

    Exists where all sizes are powers of two and nothing is padded.

    >>> print(to_linear_layout(Shape.parse("f32[4,4]{1,0:T(2,2)}")))
    offset = [[0, 1], [1, 0], [0, 2], [2, 0]]
    >>> to_linear_layout(Shape.parse("f32[6]"))
    Unknown(reason='dimension 0 of size 6 is no power of two')
    """
    for d, size in enumerate(shape.dimensions):
        if size < 1 or size & (size - 1):
            return Unknown(f"dimension {d} of size {size} is no power of two")
    found = digits(shape)
    if isinstance(found, Unknown):
        return found
    if shape.buffer_elements != shape.n_elements:
        return Unknown(f"{shape.buffer_elements - shape.n_elements} places of padding")
    by_position = {}
    for d, of_dim in enumerate(found):
        for digit in of_dim:
            for bit in range(digit.size.bit_length() - 1):
                basis = [0] * shape.rank
                basis[d] = digit.weight << bit
                by_position[digit.stride << bit] = tuple(basis)
    return LinearLayout(tuple(by_position[position] for position in sorted(by_position)))


def from_linear_layout(dtype: str, layout: LinearLayout | Sequence[Sequence[int]]) -> Shape | Unknown:
    """The shape with the same positions.

    Unknown for a basis that moves two dimensions or several bits (a swizzle), or none (a broadcast).

    >>> print(from_linear_layout("f32", [[0, 1], [1, 0], [0, 2], [2, 0]]))
    f32[4,4]{1,0:T(2,2)}
    >>> from_linear_layout("f32", [[0, 1], [1, 1]])
    Unknown(reason='basis 1 moves more than one bit: [1, 1]')
    """
    bases = [list(basis) for basis in (layout.bases if isinstance(layout, LinearLayout) else layout)]
    rank = len(bases[0]) if bases else 0
    if any(len(basis) != rank for basis in bases):
        raise ShapeError(f"bases: expected {rank} coordinates in each")
    by_weight: list[dict[int, int]] = [{} for _ in range(rank)]
    for b, basis in enumerate(bases):
        moved = [(d, weight) for d, weight in enumerate(basis) if weight]
        if not moved:
            return Unknown(f"basis {b} moves nothing: several places hold one element")
        if len(moved) > 1 or moved[0][1] < 0 or moved[0][1].bit_count() > 1:
            return Unknown(f"basis {b} moves more than one bit: {basis}")
        (d, weight) = moved[0]
        if weight in by_weight[d]:
            return Unknown(f"basis {b} moves what another moves: {basis}")
        by_weight[d][weight] = 1 << b
    for d, weights in enumerate(by_weight):
        if sorted(weights) != [1 << i for i in range(len(weights))]:
            return Unknown(f"bases leave out a bit of dimension {d}")
    of_dims = [[(2, weights[weight]) for weight in sorted(weights)] for weights in by_weight]
    return _placed(dtype, [1 << len(weights) for weights in by_weight], of_dims)


# ------------------------------------------------------------------------------------- from strides to order and tiles


class _Piece(NamedTuple):
    """A digit in memory: of which dimension, how many values, which number among the digits of the dimension."""

    dim: int
    size: int
    number: int


def _placed(dtype: str, sizes: Sequence[int], of_dims: Sequence[Sequence[tuple[int, int]]]) -> Shape | Unknown:
    """The shape of these sizes whose dimensions have these digits (size, stride), minor first."""
    if 0 in sizes:
        return Shape(dtype, sizes)
    placed: list[tuple[int, _Piece]] = []
    for d, of_dim in enumerate(of_dims):
        joined: list[tuple[int, int]] = []
        for size, stride in of_dim:
            if size == 1:
                continue
            if stride <= 0:
                return Unknown(f"a stride of {stride}" + ": several elements in one place" * (stride == 0))
            if joined and joined[-1][0] * joined[-1][1] == stride:
                joined[-1] = (joined[-1][0] * size, joined[-1][1])
            else:
                joined.append((size, stride))
        placed += [(stride, _Piece(d, size, k)) for k, (size, stride) in enumerate(joined)]
    placed.sort()
    # The pieces from minor to major leave no gap, or one that the padding of a whole dimension explains.
    padded = list(sizes)
    expected = 1
    for i, (stride, piece) in enumerate(placed):
        if stride != expected:
            before = placed[i - 1][1] if i else None
            whole = before is not None and sum(1 for _, p in placed if p.dim == before.dim) == 1
            if before is None or not whole or stride % (expected // before.size) or stride < expected:
                return Unknown(f"dimension {piece.dim} has a stride of {stride}, {expected} would follow")
            padded[before.dim] = stride // (expected // before.size)
            expected = stride
        expected *= piece.size
    pieces = [piece for _, piece in reversed(placed)]
    found = _untiled(pieces, [_STEPS])
    if found is None:
        return Unknown("no order and tiles that were tried give these positions")
    order, tiles = found
    # Dimensions of size 1 have no place of their own; they stand outside, where no tile reaches them.
    ones = [d for d in range(len(sizes)) if d not in order]
    whole_order = sorted([*order, *ones]) if not tiles and order == sorted(order) else ones + order
    layout = Layout(
        whole_order[::-1],
        tiles=_with_places_of_one(tiles, len(order)),
        padded_dimensions=padded if padded != list(sizes) else (),
    )
    return Shape(dtype, sizes, layout)


_STEPS = 2000  # tiles that are tried


def _untiled(pieces: list[_Piece], budget: list[int]) -> tuple[list[int], list[list[int]]] | None:
    """The order of dimensions, major to minor, and the tiles that cut them into these pieces.

    The last tile is undone first: it took the last k pieces from k others that stand before them in the same order,
    each the next higher digit of one dimension.  What stands between those is cut into places of 1.  Of several ways
    the one with the fewest and shortest tiles is taken.
    """
    if len({piece.dim for piece in pieces}) == len(pieces):
        return [piece.dim for piece in pieces], []
    best: tuple[list[int], list[list[int]]] | None = None
    for k in range(len(pieces) // 2, 0, -1):
        budget[0] -= 1
        if budget[0] < 0:
            return best
        places, rest = pieces[-k:], pieces[:-k]
        at: list[int] = []
        for place in places:
            higher = (i for i, p in enumerate(rest) if (p.dim, p.number) == (place.dim, place.number + 1))
            i = next(higher, -1)
            if i < 0 or (at and i <= at[-1]):
                break
            at.append(i)
        if len(at) < k:
            continue
        tile = [1] * (len(rest) - at[0])
        joined = {(place.dim, place.number + 1) for place in places}
        for i, place in zip(at, places, strict=True):
            tile[i - at[0]] = place.size
            rest[i] = _Piece(place.dim, rest[i].size * place.size, place.number + 1)
        # A digit is one lower for each one below it that has been joined to the next.
        rest = [p._replace(number=p.number - sum(d == p.dim and n <= p.number for d, n in joined)) for p in rest]
        inner = _untiled(rest, budget)
        if inner is not None:
            found = inner[0], [*inner[1], tile]
            best = min(best or found, found, key=_lengths)
    return best


def _lengths(way: tuple[list[int], list[list[int]]]) -> tuple[int, int]:
    return len(way[1]), sum(map(len, _with_places_of_one(way[1], len(way[0]))))


def _with_places_of_one(tiles: list[list[int]], rank: int) -> list[list[int]]:
    """The tiles for the stages as they are: places of 1 are dimensions there, and each tile passes over them."""
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
