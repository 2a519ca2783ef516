"""Caches the results of rules by signature; a rule that fails has an unknown result.

A map has one dimension for each dimension of the array that it starts from, and one result for each dimension of the
array that it leads to; any other result is unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from .._core import Instruction, InstructionIndexing, RuleCache
from ..errors import HlomapError
from ..ops._rule import RuleResult
from ..text import error_text
from ..types import ShapeIndex

cache: RuleCache = RuleCache()
"""The results that all modules share."""


def clear() -> None:
    """Drop all results: some rule has changed, which signatures do not show."""
    cache.clear()


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
