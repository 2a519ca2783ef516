"""Caches the results of rules by signature; a rule that fails has an unknown result.

A map has one dimension for each dimension of the array that it starts from, and one result for each dimension of the
array that it leads to; any other result is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .._core import Instruction, InstructionIndexing
from ..errors import HlomapError
from ..ops._rule import RuleResult
from ..text import error_text
from ..types import ShapeIndex

N_SIGNATURES = 16384
_N_FINGERPRINTS = 4096
_WIDE = 256

Key: TypeAlias = tuple[bytes, ShapeIndex, int]
"""A signature or fingerprint, the array in the output or in an operand, and the direction."""


class RuleCache:
    """The most recent results by signature.

    A result depends on the signature alone, so it becomes wrong only where a rule is replaced; :func:`clear` then drops
    everything.  There are two generations: an entry that is not used while the younger one fills is dropped.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[Key, InstructionIndexing] = {}
        self._old: dict[Key, InstructionIndexing] = {}

    def find(self, key: Key) -> InstructionIndexing | None:
        """The cached result of a key, or None."""
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: Key, indexing: InstructionIndexing) -> None:
        """Cache a result, unless it has very many parts."""
        if len(indexing) > _WIDE:
            return
        if len(self._young) >= self._limit:
            self._young, self._old = {}, self._young
        self._young[key] = indexing

    def clear(self) -> None:
        """Drop everything."""
        self._young, self._old = {}, {}


signature_cache: RuleCache = RuleCache(N_SIGNATURES)
"""Results of rules by instruction signature; runtime source k is the value of operand k."""

fingerprint_cache: RuleCache = RuleCache(_N_FINGERPRINTS)
"""The indexing of computations by fingerprint; a runtime source is a position in the computation."""


def clear() -> None:
    """Drop all results: some rule has changed, which signatures do not show."""
    signature_cache.clear()
    fingerprint_cache.clear()


def checked_rule(
    instruction: Instruction,
    index: ShapeIndex,
    direction: int,
    rule: Callable[..., RuleResult],
    *arguments: object,
    on_devices: bool = False,
) -> InstructionIndexing:
    """The result of a rule for an array of the output (direction -1), or of operand ``direction``.

    All parts are unknown in a buffer, whose dimensions no rule sees, where a dimension is unbounded, where the
    attributes and shapes do not fit, so that rules need not check it, and where a number does not fit in 64 bits.
    """
    reason = instruction._unanswerable(index, direction)
    if reason is None:
        try:
            return InstructionIndexing(instruction, index, direction, rule(*arguments), on_devices=on_devices)
        except (HlomapError, OverflowError) as error:
            reason = str(error)
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            StopIteration,
            TypeError,
            ValueError,
        ) as error:
            reason = f"the rule failed on these attributes and shapes ({error_text(error)})"
    return InstructionIndexing.unknown(instruction, index, direction, f"{instruction.opcode}: {reason}")
