"""What rules answered: each is asked once for a signature, and what goes wrong inside it is an answer, too.

Read :func:`checked_rule` first.  The law: a map has a dimension for each dimension of what was asked, and a result for
each dimension of the leaf that it indexes; anything else is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .._core import Instruction, InstructionIndexing
from ..errors import HlomapError
from ..ops._rule import RuleResult
from ..types import ShapeIndex

__all__ = ["Answers", "answers", "checked_rule", "contents"]

_CACHED_ANSWERS = 16384
_CACHED_CONTENTS = 4096
_WIDE = 256

Key: TypeAlias = tuple[bytes, ShapeIndex, int]
"""A signature, a leaf of the output or of an operand, and the operand's number, -1 for the output."""


class Answers:
    """The latest answers of rules by instruction signature.

    Answers depend on the signature alone, so an entry becomes wrong only where a rule is replaced.  They are in two
    generations: what was not asked for during the whole of the younger one is dropped with the older.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._young: dict[Key, InstructionIndexing] = {}
        self._old: dict[Key, InstructionIndexing] = {}

    def find(self, key: Key) -> InstructionIndexing | None:
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is not None:
                self.keep(key, found)
        return found

    def keep(self, key: Key, answer: InstructionIndexing) -> None:
        if len(answer) > _WIDE:
            return
        if len(self._young) >= self._limit:
            self._young, self._old = {}, self._young
        self._young[key] = answer

    def forget(self) -> None:
        """Drop everything: rules have changed, and signatures do not know of that."""
        self._young, self._old = {}, {}


answers: Answers = Answers(_CACHED_ANSWERS)
contents: Answers = Answers(_CACHED_CONTENTS)
"""The same through whole computations, by their content; a runtime source is a position in the computation."""


def checked_rule(
    instruction: Instruction, leaf: ShapeIndex, operand: int, rule: Callable[[], RuleResult]
) -> InstructionIndexing:
    """A rule's answer for a leaf of an operand, -1 being the output.

    What does not fit in 64 bits, or attributes that do not fit, are unknown.
    """
    reason = instruction.inconsistency
    if reason is None:
        try:
            return InstructionIndexing(instruction, leaf, operand, rule())
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
            reason = f"attributes and shapes do not fit ({type(error).__name__}: {error})"
    return InstructionIndexing.unknown(instruction, leaf, operand, f"{instruction.opcode}: {reason}")
