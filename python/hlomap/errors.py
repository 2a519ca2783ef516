"""Every exception that hlomap raises on bad input.

One base, :class:`HlomapError`, and few leaves; each leaf is also the builtin that people expect to catch.
Not knowing is no exception: an op rule that can say nothing gives a map set with ``is_unknown``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Diagnostic

__all__ = [
    "DomainError",
    "HloSyntaxError",
    "HlomapError",
    "IntegerOverflowError",
    "MapError",
    "MapSyntaxError",
    "NotFoundError",
    "ShapeError",
    "UndecidedError",
    "UnsupportedError",
]


class HlomapError(Exception):
    """The base of all exceptions of hlomap.

    >>> issubclass(MapError, HlomapError)
    True
    """


class HloSyntaxError(HlomapError, ValueError):
    """HLO text that does not parse; ``errors`` holds every problem found, the other fields tell of the first.

    ``line`` and ``column`` count from 1.  ``snippet`` is the line of the text with a caret below the place.
    """

    def __init__(
        self,
        message: str = "",
        *,
        errors: tuple[Diagnostic, ...] = (),
        filename: str | None = None,
        line: int | None = None,
        column: int | None = None,
        found: str | None = None,
        expected: str | None = None,
        snippet: str | None = None,
    ) -> None:
        super().__init__(message)
        self.errors = errors
        self.filename = filename
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.snippet = snippet


class MapSyntaxError(HlomapError, ValueError):
    """Text of a map or an expression that does not parse; ``line`` and ``column`` count from 1."""

    def __init__(self, message: str = "", *, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class MapError(HlomapError, ValueError):
    """A map that cannot be: wrong number of variables, a divisor that may be zero, bounds that do not fit."""


class ShapeError(HlomapError, ValueError):
    """A shape or layout that cannot be, or shapes that do not fit the operation."""


class IntegerOverflowError(HlomapError, OverflowError):
    """An integer that does not fit in 64 bits."""


class DomainError(HlomapError, ValueError):
    """A point outside the domain of a map, where ``check=True`` asked for the check."""


class UndecidedError(HlomapError, ValueError):
    """The truth value of an answer that is undecided: of an :class:`~hlomap.Equivalence`, an
    :class:`~hlomap.Unknown` or a :class:`~hlomap.CheckResult`; the message has the reason.

    >>> import hlomap as hm
    >>> bool(hm.Unknown("no rule for sort"))
    Traceback (most recent call last):
    hlomap.errors.UndecidedError: an unknown value has no truth value: no rule for sort; test isinstance(..., Unknown)
    """


class UnsupportedError(HlomapError, NotImplementedError):
    """A request that is understood, but that hlomap cannot serve (yet); the message names what is missing."""


class NotFoundError(HlomapError, KeyError):
    """A name or number that is not there; the message lists near names."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
