"""What shapes and attributes say: leaves, sizes, and that they go together.

What does not go together is an error with the sizes in it; :mod:`hlomap.analysis.rule_cache` turns it into Unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from .._core import Instruction, Shape
from ..errors import IntegerOverflowError, ShapeError

INT64_MAX = 2**63 - 1


def n_outputs(shape: Shape) -> int:
    """How many outputs a value has: the elements of a tuple, else one."""
    return len(elements_of(shape)) if shape.is_tuple else 1


@lru_cache(maxsize=64)
def elements_of(shape: Shape) -> tuple[Shape, ...]:
    """The shapes in a tuple; kept for the latest few, since to ask leaf by leaf would copy a wide one each time."""
    return shape.tuple_shapes


def shape_at(shape: Shape, leaf: tuple[int, ...]) -> Shape:
    """The shape that a shape index leads to."""
    try:
        return shape.at(leaf) if leaf else shape
    except OverflowError:
        raise ShapeError(f"shape index {leaf} leaves the shape") from None


def array_leaves(shape: Shape, below: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The shape indices of all arrays in a value, in order; tokens and opaque values are none."""
    pending = [(below, shape)]
    while pending:
        leaf, here = pending.pop()
        if here.is_tuple:
            inner = elements_of(here)
            pending.extend(((*leaf, i), inner[i]) for i in reversed(range(len(inner))))
        elif here.is_array:
            yield leaf


def require_sizes(found: Iterable[int], expected: Iterable[int], what: str) -> None:
    """Sizes as the operation has them; written sizes may differ in text that was read, and then there is no map."""
    found, expected = tuple(found), tuple(expected)
    if found != expected:
        raise ShapeError(f"{what} of sizes {list(found)} where {list(expected)} was expected")


def require(holds: bool, what: str) -> None:
    """An attribute that an operation cannot have leaves it without maps."""
    if not holds:
        raise ShapeError(what)


def n_elements(sizes: Iterable[int]) -> int:
    """The product of the sizes, without wrapping."""
    product = 1
    for size in sizes:
        product *= size
    return product


def require_int64(value: int) -> int:
    """The value itself where it fits in 64 bits."""
    if not -INT64_MAX - 1 <= value <= INT64_MAX:
        raise IntegerOverflowError(f"{value} does not fit in 64 bits")
    return value


def same_arrays(a: Shape, b: Shape) -> bool:
    """Whether two values have equally sized arrays at the same leaves."""
    if a.is_array and b.is_array:
        return a.dimensions == b.dimensions
    if a == b:
        return True
    here, there = list(array_leaves(a)), list(array_leaves(b))
    return here == there and all(shape_at(a, leaf).dimensions == shape_at(b, leaf).dimensions for leaf in here)


def result_sizes(instruction: Instruction) -> tuple[int, ...]:
    """The sizes that all results of a variadic operation share."""
    shape = instruction.shape
    return tuple(elements_of(shape)[0].dimensions if shape.is_tuple else shape.dimensions)
