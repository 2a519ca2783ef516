"""Arguments of public functions and their errors, and shape indices, shared by every package."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import islice
from operator import attrgetter, index
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeGuard, TypeVar

from .._core import _MAX_ITEMS, Computation, Count, Instruction, Module
from ..errors import UnsupportedError
from .answers import Answer, Unknown
from .lazy import np, npt

_T = TypeVar("_T")
_Key = TypeVar("_Key")
_Scalar = TypeVar("_Scalar", bound="np.generic")

ShapeIndex: TypeAlias = tuple[int, ...]
"""The path from a value to one of the arrays in it: tuple elements from the outside in, ``()`` for an array itself."""


class ReadOnlyDict(dict[_Key, _T]):
    """An immutable dictionary in a result: every method that would change it raises ``TypeError``.

    >>> ReadOnlyDict(a=1) == {"a": 1}
    True
    """

    __slots__ = ()

    def _refuse(self, *arguments: Any, **more: Any) -> NoReturn:
        raise TypeError("a result of hlomap is read-only: change a copy, dict(...)")

    if not TYPE_CHECKING:
        __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def read_only(array: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Marks the array as not writable, and returns it."""
    array.flags.writeable = False
    return array


def json_value(value: Any) -> Any:
    """The JSON value of a field: parts of a program become names, shapes and maps become text.

    A number that is known only within bounds becomes ``{"lower": ..., "upper": ...}``, and what is unknown or undecided
    ``{"unknown": reason}``; null means that there is none.

    >>> json_value({"sizes": (2, 3), "times": Unknown("a loop"), "reads": None})
    {'sizes': [2, 3], 'times': {'unknown': 'a loop'}, 'reads': None}
    """
    if isinstance(value, Unknown) or (isinstance(value, Answer) and value.value is None):
        return {"unknown": value.reason}
    if value is None or isinstance(value, Answer):
        return getattr(value, "value", None)
    if isinstance(value, (str, int, float)):
        return str(value) if isinstance(value, Enum) else value
    if isinstance(value, (Instruction, Computation, Module)):
        return value.name
    if isinstance(value, Count):
        return value.lower if value.exact else {"lower": value.lower, "upper": value.upper}
    for method in ("to_dict", "tolist"):
        if hasattr(value, method):
            return getattr(value, method)()
    if hasattr(value, "__match_args__"):  # a dataclass, or a tuple with names
        return {name: json_value(getattr(value, name)) for name in value.__match_args__}
    if isinstance(value, Mapping):
        return {name: json_value(item) for name, item in value.items()}
    return list(map(json_value, value)) if isinstance(value, Iterable) else str(value)


def json_fields(record: object, *names: str) -> dict[str, Any]:
    """Attributes of a record as JSON values; ``NAME:ATTRIBUTE`` writes an attribute under another name."""
    pairs = (name.rpartition(":") for name in " ".join(names).split())
    return {name or path: json_value(attrgetter(path)(record)) for name, _, path in pairs}


def wrong_type(function: str, takes: str, got: object, hint: str = "") -> TypeError:
    """The error for an argument of the wrong kind; ``function`` is the public name after ``hm.``.

    >>> wrong_type("tile", "an Instruction", "dump", 'use module["name"]')
    TypeError('hm.tile: expected an Instruction, got str (use module["name"])')
    """
    found = type(got)
    is_plain = found.__module__ == "builtins" or found.__module__.startswith("hlomap.")
    name = "None" if got is None else found.__name__ if is_plain else f"{found.__module__}.{found.__qualname__}"
    return TypeError(f"hm.{function}: expected {takes}, got {name}" + (f" ({hint})" if hint else ""))


def subject_of(
    subject: Instruction | Computation | Module, function: str, hint: str = 'use module["name"]'
) -> Instruction | Computation:
    """The subject of a question: an instruction or a computation; a module stands for its entry.

    Raises :func:`wrong_type` for anything else.
    """
    if isinstance(subject, (Instruction, Computation)):
        return subject
    if isinstance(subject, Module):
        return subject.entry
    raise wrong_type(function, "an Instruction, a Computation or a Module", subject, hint)


def instruction_of(got: object, function: str, what: str = "an Instruction", hint: str | None = None) -> Instruction:
    """The instruction that a question is about; raises :func:`wrong_type` for anything else."""
    if isinstance(got, Instruction):
        return got
    source = "computation" if isinstance(got, Computation) else "module"
    raise wrong_type(function, what, got, hint or f'use {source}["name"]')


def module_hint(got: object) -> str:
    """Advice on what to write instead, for a function that takes only a module."""
    kind = type(got).__name__.lower()
    return f"use {kind}.module" if isinstance(got, (Instruction, Computation)) else "read a file with hm.load(path)"


def is_index(got: object) -> TypeGuard[int]:
    """Whether Python can index with a value: an int or a NumPy integer.

    ``isinstance(got, SupportsIndex)`` is equivalent and ten times as slow, for each argument of each call.

    >>> is_index(3), is_index(3.0)
    (True, False)
    """
    return hasattr(type(got), "__index__")


def expect_numbers(got: Any, function: str, argument: str) -> list[int]:
    """The integers of a sequence or an array; raises :func:`wrong_type` for anything else."""
    takes = f"a sequence of int as `{argument}`"
    array = np.asarray(got) if hasattr(got, "__array__") else None
    is_sequence = isinstance(got, Sequence) and not isinstance(got, (str, bytes)) if array is None else array.ndim == 1
    if not is_sequence:
        raise wrong_type(function, takes, got)
    items = _take_items(got if array is None else array.flat, function, takes)
    for item in items:
        if not is_index(item):
            raise wrong_type(function, takes, item, "as an item")
    return list(map(index, items))


def expect_ints(function: str, **given: object) -> None:
    """Raises :func:`wrong_type` for the first argument that is not an integer."""
    for argument, got in given.items():
        if not is_index(got):
            raise wrong_type(function, f"an int as `{argument}`", got)


def expect_index(got: object, function: str, argument: str) -> None:
    """Raises :func:`wrong_type` unless a value is the number of an output or operand, or a shape index."""
    items = got if isinstance(got, (tuple, list)) else (got,)
    if not all(map(is_index, items)):
        raise wrong_type(function, f"a number or a shape index (a tuple of int) as `{argument}`", got)


def as_shape_index(given: int | ShapeIndex) -> ShapeIndex:
    """The shape index of an output or operand; a number stands for a shape index of one item."""
    if isinstance(given, int):
        return (given,)
    return tuple(map(index, given)) if isinstance(given, (tuple, list)) else (index(given),)


def expect(kinds: type | tuple[type, ...], got: object, function: str, takes: str, hint: str = "") -> None:
    """Raises :func:`wrong_type` unless a value is of one of the kinds."""
    if not isinstance(got, kinds):
        raise wrong_type(function, takes, got, hint)


def expect_paths(got: object, function: str, takes: str, hint: str = "") -> list[str]:
    """The paths of an argument, which may be a single path; raises :func:`wrong_type` for anything else."""
    given: Any = [got] if isinstance(got, (str, os.PathLike)) else got
    try:
        paths = list(given)  # a corpus has any number
    except TypeError:
        raise wrong_type(function, takes, got, hint) from None
    for path in paths:
        expect((str, os.PathLike), path, function, takes, hint)
    return [os.fspath(path) for path in paths]


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turns a failed import of an optional package into an ``UnsupportedError`` that names the extra to install.

    >>> with needs("arrow", "to_arrow"):
    ...     import pyarrow_that_is_missing
    Traceback (most recent call last):
    hlomap.errors.UnsupportedError: to_arrow needs pyarrow_that_is_missing: pip install 'hlomap[arrow]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise UnsupportedError(f"{what} needs {error.name}: pip install 'hlomap[{extra}]'") from error


def expect_items(kind: type[_T], got: Iterable[_T], function: str, takes: str, hint: str = "") -> list[_T]:
    """The items of an iterable; raises :func:`wrong_type` for anything else, and for an item of another kind."""
    try:
        items = _take_items(iter(got), function, takes)
    except TypeError:
        raise wrong_type(function, takes, got, hint) from None
    if isinstance(got, str):
        raise wrong_type(function, takes, got, hint)
    for item in items:
        expect(kind, item, function, takes, "as an item")
    return items


def _take_items(items: Iterable[_T], function: str, takes: str) -> list[_T]:
    """The items, up to the limit for an argument, without relying on the iterable's ``len``.

    The compiled module bounds its arguments in the same way.
    """
    found = list(islice(iter(items), _MAX_ITEMS + 1))
    if len(found) > _MAX_ITEMS:
        raise ValueError(f"hm.{function}: expected {takes}, got more than {_MAX_ITEMS} items")
    return found
