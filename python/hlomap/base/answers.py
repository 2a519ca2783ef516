"""Results of questions: :class:`Answer` is true, false or undecided; :class:`Unknown` is a missing value with a reason.

The first question of a process imports this module.  Its classes are not dataclasses, since that package imports
``inspect`` and ``ast``, which takes longer than reading a module.
"""

from __future__ import annotations

from typing import Any, ClassVar, Generic, NoReturn, TypeVar

from ..errors import UndecidedError
from .text import one_line

_Witness = TypeVar("_Witness", covariant=True)
_Item = TypeVar("_Item", covariant=True)


class ReadOnly:
    """A result whose attributes are set once, by its constructor."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            raise AttributeError(f"{type(self).__name__} is read-only: cannot set `{name}`")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is read-only: cannot delete `{name}`")


class Record(ReadOnly):
    """A result with the fields ``__match_args__``, which compares by them as a frozen dataclass does."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__match_args__)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()


class Records(tuple[_Item, ...]):
    """A tuple of results whose text has a line for each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class Answer(Record, Generic[_Witness]):
    """The answer to a question that may stay undecided, such as whether two maps are the same function.

    ``value`` is ``True``, ``False`` or ``None`` (undecided).  ``if answer:`` and ``not answer`` use the value, and
    raise :class:`~hlomap.errors.UndecidedError` if the question is undecided, so that no condition takes ``None`` for
    no.  To go on with an undecided answer, test ``answer.value is True`` or ``answer.value is not False``.  Answers are
    equal if their fields are equal; comparing an answer with a truth value raises ``TypeError``.

    The constructor raises ``ValueError`` for an undecided answer without a reason or with a witness.

    >>> a = hm.IndexingMap.parse("(d0) -> (d0 * 2), domain: d0 in [0, 9]")
    >>> a.equivalent(hm.IndexingMap.identity([10]))
    Answer(False, witness=(1,))
    >>> bool(a.is_injective())
    True
    >>> undecided = a.equivalent(hm.IndexingMap.undefined([10]))
    >>> undecided.value, undecided.reason
    (None, 'nothing is known about an undefined map')
    >>> bool(undecided)
    Traceback (most recent call last):
    hlomap.errors.UndecidedError: undecided: nothing is known about an undefined map; test `.value`, which is None
    >>> a.is_injective() == False
    Traceback (most recent call last):
    TypeError: cannot compare an Answer with a truth value: test `.value`
    """

    __slots__ = ("reason", "value", "witness")
    __match_args__: ClassVar[tuple[str, ...]] = ("value", "witness", "reason")

    #: ``True``, ``False``, or ``None`` if the question is undecided.
    value: bool | None
    #: The proof of the value, or ``None``; the function that returns the answer documents its form.
    witness: _Witness | None
    #: Why the question is undecided, or why the value is ``False`` without a witness; else ``None``.
    reason: str | None

    def __init__(self, value: bool | None, witness: _Witness | None = None, reason: str | None = None) -> None:
        if value is None and (reason is None or witness is not None):
            raise ValueError("an undecided Answer has a reason, and no witness")
        self.value, self.witness, self.reason = value, witness, reason

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError(f"undecided: {self.reason}; test `.value`, which is None")
        return self.value

    def __eq__(self, other: object) -> bool:
        if type(other).__name__ in ("bool", "bool_"):  # Python's, and NumPy's without importing it
            raise TypeError("cannot compare an Answer with a truth value: test `.value`")
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()

    def __repr__(self) -> str:
        witness = f", witness={one_line(str(self.witness))}" if self.witness is not None else ""
        reason = f", reason={one_line(self.reason)!r}" if self.reason is not None else ""
        return f"Answer({self.value}{witness}{reason})"


class Unknown(Record):
    """A result that is not known, with the reason; it has no truth value.

    >>> factors = hm.layouts.decompose_bitcast(hm.Shape.parse("f32[8]{0:T(4)}"), hm.Shape.parse("f32[8]"))
    >>> factors.reason if isinstance(factors, hm.Unknown) else None
    'tiles or padding in f32[8]{0:T(4)}'
    """

    __slots__ = ("reason",)
    __match_args__: ClassVar[tuple[str, ...]] = ("reason",)

    reason: str

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"Unknown(reason={one_line(self.reason)!r})"

    def __str__(self) -> str:
        return f"unknown: {self.reason}"

    def __bool__(self) -> NoReturn:
        raise UndecidedError(f"an unknown value has no truth value: {self.reason}; test isinstance(..., Unknown)")
