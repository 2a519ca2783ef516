"""HLO indexing analysis: which elements of its inputs does each element of an XLA program read?

>>> from hlomap import HlomapError
>>> issubclass(HlomapError, Exception)
True
"""

from __future__ import annotations

from .errors import (
    DomainError,
    HlomapError,
    HloSyntaxError,
    IntegerOverflowError,
    MapError,
    MapSyntaxError,
    NotFoundError,
    ShapeError,
    UnsupportedError,
)

__all__ = [
    "DomainError",
    "HloSyntaxError",
    "HlomapError",
    "IntegerOverflowError",
    "MapError",
    "MapSyntaxError",
    "NotFoundError",
    "ShapeError",
    "UnsupportedError",
]
