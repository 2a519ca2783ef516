"""Immutable JSON objects, such as the configurations of backends.

:func:`backend_config` reads the value of ``backend_config``, wherever it is needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import accumulate
from math import isfinite
from typing import Any

from ..errors import HloSyntaxError
from .text import one_line
from .types import expect

_MAX_DEPTH = 100  # of Protocol Buffers, whose messages backends write; deeper ones would exhaust Python's stack
_MAX_DIGITS = 4300  # beyond which Python refuses an int; the time to read one is quadratic
_STEP = {"{": 1, "[": 1, "}": -1, "]": -1}
_NOT_BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[^][{}"]+', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


class JsonObject(Mapping[str, Any]):
    """A JSON object, such as a ``backend_config``: a mapping that cannot be changed.

    Values are ``str``, ``int``, ``float``, ``bool``, ``None``, tuples for arrays, and JSON objects.  It equals
    every mapping with equal values, however the text spells them; :attr:`text` (also ``str(...)``) is the spelling, and
    ``json.loads(text)`` makes dictionaries and lists.

    >>> config = hm.hlo.JsonObject.parse('{"known_trip_count": {"n": "12"}, "sizes": [8, 128]}')
    >>> config["known_trip_count"]["n"], config["sizes"], config.get("kind")
    ('12', (8, 128), None)
    >>> config["known_trip_count"] == {"n": "12"}
    True
    """

    __slots__ = ("_fields", "_text")

    _fields: dict[str, Any]
    _text: str | None

    @staticmethod
    def parse(text: str, /) -> JsonObject:
        """Reads an object, up to 100 levels deep.

        Raises :class:`~hlomap.errors.HloSyntaxError` for any other text.  ``NaN`` and ``Infinity``, floats beyond the
        range of 64 bits, integers of more than 4300 digits, duplicate names in an object, and text that UTF-8 cannot
        encode are rejected: JSON readers disagree about them.
        """
        expect(str, text, "hlo.JsonObject.parse", "a str")
        found = _read(text)
        if found is None:
            raise HloSyntaxError(f"expected a JSON object, found {one_line(text, 100)}")
        return found

    @property
    def text(self) -> str:
        """The text that was read; for an object inside another one, the spelling of ``json.dumps``."""
        if self._text is None:
            object.__setattr__(self, "_text", json.dumps(_plain(self), ensure_ascii=False))
        assert self._text is not None
        return self._text

    def __getitem__(self, name: str, /) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __hash__(self) -> int:
        return hash(frozenset(self._fields.items()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"JsonObject is read-only: cannot set `{name}`")

    def __repr__(self) -> str:
        return f"JsonObject.parse({one_line(self.text)!r})"

    def __str__(self) -> str:
        return self.text

    def __copy__(self) -> JsonObject:
        return self

    def __deepcopy__(self, _memo: Any, /) -> JsonObject:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonObject.parse, (self.text,)


def backend_config(text: str) -> JsonObject | str:
    """The configuration of a backend: a :class:`JsonObject` if the text is a JSON object, else the text itself."""
    found = _read(text)
    return text if found is None else found


def _read(text: str) -> JsonObject | None:
    if not text.lstrip(" \t\r\n").startswith("{") or _depth(text) > _MAX_DEPTH:
        return None
    try:
        found = _DECODER.decode(text)
        if ("\\u" in text or not text.isascii()) and _SURROGATE.search(text):
            json.dumps(_plain(found), ensure_ascii=False).encode()
    except ValueError:
        return None
    object.__setattr__(found, "_text", text)
    return found  # type: ignore[no-any-return]


def _depth(text: str) -> int:
    """The greatest nesting depth of objects and arrays."""
    if text.count("{") + text.count("[") <= _MAX_DEPTH:
        return 0
    return max(accumulate(map(_STEP.__getitem__, _NOT_BRACKETS.sub("", text))), default=0)


def _object(pairs: list[tuple[str, Any]]) -> JsonObject:
    fields = {name: _frozen(value) for name, value in pairs}
    if len(fields) < len(pairs):
        raise ValueError("duplicate name in an object")
    return _from_fields(fields)


def _from_fields(fields: dict[str, Any]) -> JsonObject:
    made = object.__new__(JsonObject)
    object.__setattr__(made, "_fields", fields)
    object.__setattr__(made, "_text", None)
    return made


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if type(value) is list else value


def _plain(value: Any) -> Any:
    """The value with dictionaries and lists, for ``json.dumps``."""
    if isinstance(value, JsonObject):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if type(value) is tuple else value


def _float(text: str) -> float:
    found = float(text)
    if not isfinite(found):
        raise ValueError("a float beyond the range of 64 bits")
    return found


def _int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError("an int of too many digits")
    return int(text)


def _reject(constant: str) -> None:
    raise ValueError(constant)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_reject, parse_float=_float, parse_int=_int)
