"""Shape arithmetic: leaves, sizes, and checks that sizes agree.

A failed check raises :class:`ShapeError`, which the propagation turns into Unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod

from .._core import Instruction, Shape
from ..errors import ShapeError, SizeError

INT64_MAX = 2**63 - 1


def n_outputs(shape: Shape) -> int:
    """The number of outputs of a value: the elements of a tuple, else one."""
    return len(elements_of(shape)) if shape.is_tuple else 1


@lru_cache(maxsize=64)
def elements_of(shape: Shape) -> tuple[Shape, ...]:
    """The element shapes of a tuple shape, cached: ``tuple_shapes`` copies them, which is slow for wide tuples."""
    return shape.tuple_shapes


def shape_at(shape: Shape, shape_index: tuple[int, ...]) -> Shape:
    """The shape at a shape index; raises :class:`ShapeError` if there is none."""
    try:
        return shape.at(shape_index) if shape_index else shape
    except OverflowError:
        raise ShapeError(f"shape index {shape_index} is out of range") from None


def array_leaves(shape: Shape, below: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """The shape indices of all arrays in a value, in order; tokens and opaque values are left out."""
    return [(*below, *shape_index) for shape_index, _ in arrays(shape)]


def leaves(shape: Shape, below: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """The shape indices of everything in a value that is not a tuple, in order."""
    return [(*below, *shape_index) for shape_index, _ in shape.leaves()]


def arrays(shape: Shape) -> list[tuple[tuple[int, ...], Shape]]:
    """The shape indices of all arrays and buffers in a value with their shapes, in order."""
    if shape.is_array:
        return [((), shape)]
    return [(shape_index, part) for shape_index, part in shape.leaves() if part.is_array or part.dtype == "buffer"]


def require_sizes(found: Iterable[int], expected: Iterable[int], what: str) -> None:
    """Raise :class:`ShapeError` unless the sizes are as expected: HLO text may declare shapes that do not agree."""
    found, expected = tuple(found), tuple(expected)
    if found != expected:
        raise ShapeError(f"sizes of {what} are {list(found)}, expected {list(expected)}")


def require(holds: bool, what: str) -> None:
    """Raise :class:`ShapeError` unless the condition holds."""
    if not holds:
        raise ShapeError(what)


def matched_dims(a: Sequence[int], b: Sequence[int]) -> Iterator[tuple[range, range]]:
    """The smallest groups of consecutive dimensions of two arrays that have equal numbers of elements.

    >>> list(matched_dims([4, 6], [4, 2, 3]))
    [(range(0, 1), range(0, 1)), (range(1, 2), range(1, 3))]
    """
    require(prod(a) == prod(b), "the arrays have different numbers of elements")
    if prod(a) == 0:
        yield range(len(a)), range(len(b))
        return
    i = j = 0
    while i < len(a) or j < len(b):
        start, first, left, right = i, j, 1, 1
        while (start, first) == (i, j) or left != right:
            if i < len(a) and (left <= right or j == len(b)):
                left, i = left * a[i], i + 1
            else:
                right, j = right * b[j], j + 1
        yield range(start, i), range(first, j)


def require_int64(value: int) -> int:
    """The value itself; :class:`SizeError` unless it fits in 64 bits."""
    if not -INT64_MAX - 1 <= value <= INT64_MAX:
        raise SizeError(f"{value} does not fit in 64 bits")
    return value


def same_arrays(a: Shape, b: Shape) -> bool:
    """Whether two values have arrays of the same sizes at the same leaves."""
    if a == b:
        return True
    here, there = ([(shape_index, one.dimensions) for shape_index, one in arrays(shape)] for shape in (a, b))
    return here == there


def result_shape(instruction: Instruction) -> Shape:
    """The shape of the first output of a variadic operation, with the sizes of all."""
    shape = instruction.shape
    return elements_of(shape)[0] if shape.is_tuple else shape
