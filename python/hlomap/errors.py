"""The exceptions that hlomap raises on bad input.

All derive from :class:`HlomapError`, and most also from the builtin exception that callers expect to catch.  A missing
indexing rule does not raise: the result is a map set with ``is_unknown`` and a ``reason``.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

    from ._core import Diagnostic

__all__ = [
    "DatasetError",
    "DomainError",
    "EngineError",
    "HloSyntaxError",
    "HlomapError",
    "LockedError",
    "MapError",
    "MapSyntaxError",
    "NotFoundError",
    "OutputError",
    "RefusedError",
    "ShapeError",
    "SizeError",
    "UndecidedError",
    "UnsupportedError",
]


class HlomapError(Exception):
    """The base of all exceptions of hlomap.

    Where the program of a caller catches it, its text begins with the function that was called, also once pickled.

    >>> module = hm.parse("ENTRY e { ROOT p = f32[2] parameter(0) }")
    >>> hm.input_to_output(module, 3)
    Traceback (most recent call last):
    hlomap.errors.ShapeError: hm.input_to_output: e has 1 operand, no operand 3
    """

    def __str__(self) -> str:
        text = str(self.args[0]) if len(self.args) == 1 else super().__str__()
        function = "" if text.startswith("hm.") or hasattr(self, "line") else self._function()
        name = function.rpartition(".")[2]
        is_named = text.startswith((f"{name}:", f"{name}("))
        return f"hm.{function}{text[len(name) :] if is_named else f': {text}'}" if function else text

    def __reduce__(self) -> tuple[Any, ...]:
        # The text depends on the traceback, which is not pickled.
        return (type(self), (str(self),), vars(self)) if len(self.args) == 1 else super().__reduce__()  # type: ignore[return-value]

    def _function(self) -> str:
        """The public function of hlomap that raised the exception to its caller; empty if hlomap itself catches it."""
        at = self.__traceback__
        if at is None or _is_own(at.tb_frame):
            return ""
        while at is not None and not _is_own(at.tb_frame):
            at = at.tb_next
        # The compiled module has no frames, so it records which of its functions was called.
        noted: str = getattr(self, "function", "")
        return noted if at is None else _public_name(at.tb_frame) or noted


class HloSyntaxError(HlomapError, ValueError):
    """HLO text that does not parse; ``errors`` lists every problem, the other fields describe the first.

    ``line`` and ``column`` count from 1.  ``snippet`` is the line of the text with a caret below the column.
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
    """An invalid map: wrong number of variables, a divisor that may be zero, bounds that do not fit."""


class ShapeError(HlomapError, ValueError):
    """An invalid shape or layout, or shapes that do not fit the operation."""


class SizeError(HlomapError, OverflowError):
    """An integer that does not fit in 64 bits."""


class DomainError(HlomapError, ValueError):
    """A point outside the domain of a map, in a call with ``check=True``."""


class RefusedError(HlomapError, RuntimeError):
    """A changed module that XLA does not get, since it may compute other values; the message has the reason.

    ``output`` is the number of an output that differs, ``element`` one of its elements, ``before`` and ``after`` its
    values; None if the reason is another one.
    """

    output: int | None = None
    element: tuple[int, ...] | None = None
    before: object = None
    after: object = None


class UndecidedError(HlomapError, ValueError):
    """The truth value of an undecided result; the message has the reason.

    The result is an :class:`~hlomap.Answer`, an :class:`~hlomap.Unknown` or a :class:`~hlomap.results.CheckResult`.

    >>> bool(hm.Unknown("no rule for sort"))
    Traceback (most recent call last):
    hlomap.errors.UndecidedError: an unknown value has no truth value: no rule for sort; test isinstance(..., Unknown)
    """


class DatasetError(HlomapError, ValueError):
    """A folder is not a dataset with these options, or parts of the dataset are lost or foreign."""


class OutputError(HlomapError, OSError):
    """The output of :func:`hlomap.analyze_corpus` cannot be written; the same call continues."""


class LockedError(HlomapError, OSError):
    """Another run is writing the same output."""


class EngineError(HlomapError, RuntimeError):
    """The engine of a run was lost: its scheduler is gone, or a worker dies repeatedly."""


class UnsupportedError(HlomapError, NotImplementedError):
    """A valid request that hlomap does not support (yet); the message names the missing part."""


class NotFoundError(HlomapError, KeyError):
    """A name or number that does not exist; the message suggests similar names."""


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__package__")).partition(".")[0] == "hlomap" and frame.f_code.co_name != "<module>"


def _public_name(frame: FrameType) -> str:
    """The name of a function or method as callers write it after ``hm.``; empty if they cannot."""
    name = owner = frame.f_code.co_name
    module = frame.f_globals["__name__"]
    if frame.f_code.co_varnames[:1] in (("self",), ("cls",)):
        instance: Any = frame.f_locals.get(frame.f_code.co_varnames[0])
        kind = instance if isinstance(instance, type) else type(instance)
        owner, module = kind.__name__, kind.__module__
        name = owner if name == "__init__" else f"{owner}.{name}"
    package = sys.modules["hlomap"]
    for prefix in ("", "layouts.", "hlo.", "results."):
        place = getattr(package, prefix[:-1]) if prefix else package
        if owner in place.__all__ and getattr(getattr(place, owner), "__module__", None) == module and "._" not in name:
            return prefix + name
    return ""
