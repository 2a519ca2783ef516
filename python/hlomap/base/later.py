"""Fields of records that are computed when they are first read.

A record may be asked for one number of a long program, and its lists have an item for each instruction.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` takes longer to import than the compiled module
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")


class _Later:
    """A field of a frozen dataclass: its value, or a function that returns it, called on the first access.

    Several threads may call the function at the same time, so it must always return the same.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: object, owner: type | None = None) -> Any:
        if record is None:  # the field has no default
            raise AttributeError(self._name)
        value = record.__dict__[self._name]
        if callable(value):
            value = record.__dict__[self._name] = value()
        return value

    def __set__(self, record: object, value: object) -> None:
        record.__dict__[self._name] = value


def later() -> Any:
    """The default of a dataclass field whose value may be :func:`deferred`; its class derives from :class:`Later`.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Squares(Later):
    ...     n: int
    ...     all: tuple[int, ...] = later()
    >>> Squares(3, deferred(lambda: (0, 1, 4))) == Squares(3, (0, 1, 4)), Squares(3, deferred(lambda: (0, 1, 4))).all
    (True, (0, 1, 4))
    """
    return _Later()


def deferred(function: Callable[[], T]) -> T:
    """The value of such a field, which a function returns when it is read."""
    return function  # type: ignore[return-value]  # what the field gives


class Later:
    """The base of a record with such fields: a pickle or copy has their values."""

    __slots__ = ()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dict__}
