"""Answers: to a yes-or-no question true, false or undecided, with its proof or its reason; and what is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from .errors import UndecidedError
from .text import one_line

_Witness = TypeVar("_Witness", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Generic[_Witness]):
    """The answer to a question that may stay undecided, such as whether two maps are the same function.

    ``value`` is ``True``, ``False`` or ``None`` (undecided).  An answer is its own condition: ``if answer:`` and
    ``not answer`` use the value, and raise :class:`~hlomap.errors.UndecidedError` where it is undecided, so that no
    condition mistakes it for an answer.  To go on without one, test ``answer.value is True`` or
    ``answer.value is not False``.  Answers are equal where their fields are; comparing one with a truth value raises
    ``TypeError``.

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
    TypeError: an Answer is compared with a truth value: test `.value`
    """

    #: ``True``, ``False``, or ``None`` where it is undecided.
    value: bool | None
    #: The proof of the value, or ``None``; the function that gives the answer says what it is.
    witness: _Witness | None = None
    #: Why it is undecided, or why it is ``False`` without a witness; else ``None``.
    reason: str | None = None

    def __post_init__(self) -> None:
        if self.value is None and (self.reason is None or self.witness is not None):
            raise ValueError("an undecided Answer has a reason, and no witness")

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError(f"undecided: {self.reason}; test `.value`, which is None")
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Answer):
            return (self.value, self.witness, self.reason) == (other.value, other.witness, other.reason)
        if type(other).__name__ in ("bool", "bool_"):  # Python's, and NumPy's without importing it
            raise TypeError("an Answer is compared with a truth value: test `.value`")
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.value, self.witness, self.reason))

    def __repr__(self) -> str:
        witness = f", witness={one_line(str(self.witness))}" if self.witness is not None else ""
        reason = f", reason={one_line(self.reason)!r}" if self.reason is not None else ""
        return f"Answer({self.value}{witness}{reason})"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A result that is not known, with the reason; it has no truth value.

    >>> factors = hm.layouts.decompose_bitcast(hm.Shape.parse("f32[8]{0:T(4)}"), hm.Shape.parse("f32[8]"))
    >>> factors.reason if isinstance(factors, hm.Unknown) else None
    'tiles or padding in f32[8]{0:T(4)}'
    """

    reason: str

    def __repr__(self) -> str:
        return f"Unknown(reason={one_line(self.reason)!r})"

    def __str__(self) -> str:
        return f"unknown: {self.reason}"

    def __bool__(self) -> NoReturn:
        raise UndecidedError(f"an unknown value has no truth value: {self.reason}; test isinstance(..., Unknown)")
