"""The configuration of a library call, read strictly: what is not understood raises :class:`NotUnderstood`.

Its text becomes the reason of an unknown map.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from .._core import Instruction
from ..base.lazy import np


class NotUnderstood(Exception):
    """A call says something that its definition does not cover."""


def require(condition: bool, reason: str) -> None:
    """Raises :class:`NotUnderstood` with the reason where the condition does not hold."""
    if not condition:
        raise NotUnderstood(reason)


_FFI_VALUE = r'(?:"[^"\\]*(?:\\.[^"\\]*)*"|[\w.+-]+)'
# A name begins at the beginning of a word, so that a long word is looked at once.
_FFI_ENTRY = re.compile(rf"\b(\w+) = ({_FFI_VALUE})(?: : \w+)?", re.DOTALL)


def _ffi_value(text: str) -> Any:
    """A value of a typed call; MLIR writes bytes of a string that are not printable as two hexadecimal digits."""
    if not text.startswith('"'):
        return json.loads(text)
    return re.sub(r"\\(?:([0-9A-Fa-f]{2})|(.))", lambda m: chr(int(m[1], 16)) if m[1] else m[2], text[1:-1])


def config_text(instruction: Instruction) -> str:
    """An instruction's ``backend_config`` as it is written; empty where it has none."""
    return str(instruction.attributes.get("backend_config") or "")


class Config(dict[str, Any]):
    """A part of the configuration of a call: JSON, or the attributes of typed calls, ``{name = value : type, …}``."""

    def __init__(self, values: Mapping[str, Any], what: str) -> None:
        super().__init__(values)
        self._what = what

    @classmethod
    def whole(cls, instruction: Instruction) -> Config:
        """An instruction's ``backend_config``; empty where it has none."""
        found = instruction.attributes.get("backend_config") or {}
        if not isinstance(found, Mapping):
            found = cls._typed(str(found))
        if found is None:
            raise NotUnderstood("its backend_config is neither a JSON object nor a list of attributes")
        return cls(found, "backend_config")

    @staticmethod
    def _typed(text: str) -> dict[str, Any] | None:
        entries = _FFI_ENTRY.findall(text)
        if not entries or not re.fullmatch(r"\s*\{[,\s]*\}\s*", _FFI_ENTRY.sub("", text)):
            return None
        try:
            return {name: _ffi_value(value) for name, value in entries}
        except ValueError:
            return None

    @classmethod
    def of(cls, instruction: Instruction, part: str, before_2024: str | None = None) -> Config:
        """The part with this name of an instruction's ``backend_config``.

        Until 2023, XLA wrote the part alone.  ``before_2024`` is a field by which such a configuration is recognized.
        """
        whole = cls.whole(instruction)
        found = whole.get(part)
        if part not in whole and before_2024 in whole:
            return cls(whole, "backend_config")
        if not isinstance(found, Mapping):
            raise NotUnderstood(f"its backend_config has no {part}")
        return cls(found, part)

    def only(self, understood: Collection[str]) -> Config:
        """This configuration; raises :class:`NotUnderstood` for a field that is neither understood nor empty."""
        for field, value in self.items():
            if field not in understood and value and value != "0":
                raise NotUnderstood(f"{self._what} has {field}={json.dumps(value, default=dict)}")
        return self

    def _checked(self, field: str, default: Any, fits: Callable[[Any], bool], rule: str) -> Any:
        value = self.get(field, default)
        require(fits(value), f"{self._what}.{field} is not {rule}")
        return value

    def number(self, field: str, default: float) -> float:
        """A finite number."""
        return float(self._checked(field, default, _is_finite, "a number"))

    def integer(self, field: str, default: int | None = None) -> int:
        """An integer, which must be there if it has no default; JSON writes those of 64 bits as strings."""
        text = str(self.get(field, default))
        require(re.fullmatch(r"-?[0-9]{1,18}", text) is not None, f"{self._what}.{field} is {text[:80]}")
        return int(text)

    def count(self, field: str) -> int:
        """An integer of at least 0, which is 0 if it is not there."""
        n = self.integer(field, 0)
        require(n >= 0, f"{self._what}.{field} is {n}")
        return n

    def flag(self, field: str, default: bool) -> bool:
        """True or false."""
        return bool(self._checked(field, default, lambda value: isinstance(value, bool), "true or false"))

    def word(self, field: str, default: str) -> str:
        """A string."""
        return str(self._checked(field, default, lambda value: isinstance(value, str), "a string"))

    def _list(self, field: str, fits: Callable[[Any], bool]) -> Any:
        return self._checked(field, (), lambda value: isinstance(value, tuple) and all(map(fits, value)), "a list")

    def dimensions(self, field: str) -> list[int]:
        """A list of dimension numbers; JSON writes 64-bit numbers as strings."""
        return [int(n) for n in self._list(field, lambda n: str(n).isdigit())]

    def words(self, field: str) -> list[str]:
        """A list of strings."""
        return list(self._list(field, lambda word: isinstance(word, str)))

    def bits(self, field: str, default: float) -> float:
        """A float that is written as the integer of its 32 bits."""
        if self.get(field) is None:
            return default
        bits = self._checked(field, 0, lambda n: isinstance(n, int) and -(2**31) <= n < 2**32, "a 32-bit integer")
        number = float(np.array(bits & 0xFFFFFFFF, np.uint32).view(np.float32))
        require(_is_finite(number), f"{self._what}.{field} is not a finite number")
        return number

    def part(self, field: str) -> Config:
        """An object in this one."""
        value = self._checked(field, {}, lambda value: isinstance(value, Mapping), "an object")
        return Config(value, f"{self._what}.{field}")


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and abs(value) < float("inf")
