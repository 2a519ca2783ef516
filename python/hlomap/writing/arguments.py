"""Checks that the builder's methods share, and the errors that they raise.

Errors name the method, the argument, its value and the rule, for mistakes that the reader of HLO text cannot see or
does not explain; `Core._emit` raises the reader's message for all others.  An argument of the wrong kind (a string for
an array) is a :class:`TypeError`; an argument of the right kind that breaks a rule of the operation is a
:class:`~hlomap.errors.ShapeError`.  The method is the public one at work, which `naming` knows.
"""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Sequence
from typing import Any

from .._core import Shape
from ..errors import HlomapError, ShapeError
from .naming import method
from .values import Value

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 120


def called() -> str:
    """The method at work as callers write it."""
    return f"hm.{'' if '.' in method() else 'Builder.'}{method()}"


def invalid(argument: str, value: object, rule: str) -> ShapeError:
    """The error for an argument that breaks a rule of the operation."""
    return ShapeError(f"{called()}: {argument}={value}: {rule}")


def wrong_type(argument: str, value: object, expected: str) -> TypeError:
    """The error for an argument of the wrong kind."""
    return TypeError(f"{called()}: {argument}={shown(value)}: expected {expected}")


def shown(value: object) -> str:
    """The ``repr`` of a value for a message, shortened if the value is long or deeply nested."""
    return _brief.repr(value)


def described(value: Value) -> str:
    """Name and shape of a Value for a message."""
    return f"{value.name} {value.shape}"


def as_value(argument: str, value: object) -> Value:
    """The argument, which must be a Value."""
    if not isinstance(value, Value):
        raise wrong_type(argument, value, "a Value")
    return value


def as_shape(shape: Any) -> Shape:
    """A shape from a :class:`Shape` or its text."""
    if isinstance(shape, Shape):
        return shape
    if not isinstance(shape, str):
        raise wrong_type("shape", shape, 'a Shape or its text, such as "f32[2,3]"')
    try:
        return Shape.parse(shape)
    except (HlomapError, ValueError) as error:
        raise invalid("shape", shown(shape), str(error)) from None


def text(argument: str, value: object) -> str:
    """The argument, which must be a string."""
    if not isinstance(value, str):
        raise wrong_type(argument, value, "a string")
    return value


def check_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    """Checks that an argument is one of a few words."""
    if text(argument, value) not in choices:
        raise invalid(argument, repr(value), f"expected {', '.join(choices[:-1])} or {choices[-1]}")


def items(argument: str, values: Any, expected: str) -> list[Any]:
    """The items of a sequence, which is not a string."""
    if isinstance(values, (str, bytes)):
        raise wrong_type(argument, values, expected)
    try:
        return list(values)
    except TypeError:
        raise wrong_type(argument, values, expected) from None


def integer(argument: str, value: Any) -> int:
    """A Python or NumPy integer as an ``int``."""
    try:
        return operator.index(value)
    except TypeError:
        raise wrong_type(argument, value, "an integer") from None


def at_least(argument: str, value: Any, least: int) -> int:
    """An integer that is not below ``least``."""
    number = integer(argument, value)
    if number < least:
        raise invalid(argument, number, f"expected at least {least}")
    return number


def integers(argument: str, values: Any) -> list[int]:
    """A sequence of integers as a list."""
    expected = "a sequence of integers"
    try:
        return [operator.index(value) for value in items(argument, values, expected)]
    except TypeError:
        raise wrong_type(argument, values, expected) from None


def integer_lists(argument: str, values: Any) -> list[list[int]]:
    """A sequence of sequences of integers as lists."""
    expected = "a sequence of sequences of integers"
    try:
        return [list(map(operator.index, entry)) for entry in items(argument, values, expected)]
    except TypeError:
        raise wrong_type(argument, values, expected) from None


def dimension_number(argument: str, dimension: Any, rank: int) -> int:
    """A dimension number of an array of this rank; a negative one counts from the end."""
    d = integer(argument, dimension)
    if not -rank <= d < rank:
        raise invalid(argument, d, f"out of range for rank {rank}")
    return d % rank


def dimension_numbers(argument: str, dimensions: Any, rank: int) -> list[int]:
    """Distinct dimension numbers of an array of this rank; negative ones count from the end."""
    given = integers(argument, dimensions)
    found: list[int] = []
    for d in given:
        if not -rank <= d < rank:
            raise invalid(argument, given, f"dimension {d} is out of range for rank {rank}")
        if d % rank in found:
            raise invalid(argument, given, f"dimension {d % rank} is repeated")
        found.append(d % rank)
    return found


def per_dimension(argument: str, values: Any, rank: int) -> list[int]:
    """One integer for each dimension."""
    given = integers(argument, values)
    if len(given) != rank:
        raise invalid(argument, given, f"expected length {rank}, one integer per dimension")
    return given


def array_shape(dtype: str, sizes: Sequence[int]) -> Shape:
    """The shape of an array with these sizes."""
    try:
        return Shape(dtype, list(sizes))
    except OverflowError:
        raise invalid("shape", f"{dtype}{list(sizes)}", "a size that does not fit in 63 bits") from None
    except HlomapError as error:
        raise invalid("shape", f"{dtype}{list(sizes)}", str(error)) from None


def retyped_shape(element_type: Any, sizes: Sequence[int], argument: str = "new_element_type") -> Shape:
    """The shape of an array with these sizes and the element type that an argument names."""
    dtype = text(argument, element_type)
    try:
        return Shape(dtype, list(sizes))
    except HlomapError as error:
        raise invalid(argument, repr(dtype), str(error)) from None


def check_same_dtype(argument: str, values: Sequence[Value]) -> None:
    """Checks that all values have the element type of the first."""
    for value in values:
        if value.dtype != values[0].dtype:
            rule = f"expected element type {values[0].dtype}, that of the first, {described(values[0])}"
            raise invalid(argument, described(value), rule)
