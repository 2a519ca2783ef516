"""The queries and keys of an attention that a causal mask or a window lets through, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum


class Role(Enum):
    """The positions that a dimension counts."""

    QUERY = "query"
    KEY = "key"


@dataclass(frozen=True)
class Band:
    """The query at position t sees the keys at positions s with ``0 <= t - s <= farthest``.

    ``operands`` and ``results`` say which dimension of each array counts queries or keys; arrays beyond them have none.
    """

    operands: Sequence[Mapping[Role, int]]
    results: Sequence[Mapping[Role, int]]
    farthest: int

    def operand(self, number: int) -> Mapping[Role, int]:
        """The dimensions of an operand."""
        return self.operands[number] if number < len(self.operands) else {}

    def result(self, number: int) -> Mapping[Role, int]:
        """The dimensions of a result."""
        return self.results[number] if number < len(self.results) else {}
