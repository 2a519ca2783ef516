"""Calls functions of op rules for instructions whose text may be damaged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from .._core import Instruction
from ..base.answers import Unknown
from ..base.text import error_text
from ..errors import HlomapError

_T = TypeVar("_T")


def asked(trait: Callable[[Instruction], _T], instruction: Instruction) -> _T | Unknown:
    """The result of a function of an op rule; unknown if attributes and shapes do not fit each other."""
    try:
        return trait(instruction)
    except (HlomapError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return Unknown(f"{instruction.name}: attributes and shapes do not fit ({error_text(error)})")
