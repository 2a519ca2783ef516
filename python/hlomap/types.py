"""Values that every room shares: shape indices, and the reason where nothing is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["ShapeIndex", "Unknown"]

ShapeIndex: TypeAlias = tuple[int, ...]
"""The path from a value to one of the arrays in it: tuple elements from the outside in, ``()`` for an array itself."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known, and the reason."""

    reason: str
