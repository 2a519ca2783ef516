"""Rules for used elements: mentioned elements whose value can change the result.

The propagation is the same for all queries; only rules differ, and each belongs to one instruction, since the values of
its operands decide.  Under the assumption in :data:`ASSUMPTIONS`, an element that is left out has no influence.  If
nothing is known about the values, all mentioned elements are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._core import Instruction, InstructionIndexing, Module, RuleCache
from ..base.types import ShapeIndex
from ..errors import HlomapError
from ..ops import op_of
from ..ops._known import is_plain
from ..ops._rule import RuleTraits
from .questions import Questions

if TYPE_CHECKING:
    from .known_values import KnownValues

Assume: TypeAlias = Literal["finite", "masks"]

_FINITE = (
    "inputs, loop-carried values and results of operations on finite numbers are finite: "
    "nothing overflows, divides by zero or is undefined unless constants of the program cause it; zeros have no sign"
)
ASSUMPTIONS: Mapping[Assume, str] = {
    "finite": _FINITE,
    "masks": f"{_FINITE}; constants of at most -10000 mask: every other number exceeds them by so much that "
    "the exponential of the difference is 0",
}


def questions_about(module: Module, used: bool, assume: Assume, function: str) -> Questions:
    """The rules for mentioned or for used elements; raises ``ValueError`` for another assumption."""
    if not isinstance(assume, str) or assume not in ASSUMPTIONS:
        raise ValueError(f'hm.{function}: expected assume="finite" or assume="masks", got {assume!r}')
    if assume != "finite" and not used:
        raise ValueError(f"hm.{function}: assume={assume!r} needs used=True")
    return UsedQuestions(module, assume) if used else Questions(module)


class UsedQuestions(Questions):
    """Questions about what is used of operands."""

    shares_computations: bool = False
    cache: RuleCache | None = None
    reads: RuleCache = RuleCache()

    def __new__(cls, module: Module, assume: Assume) -> UsedQuestions:
        return super().__new__(cls, module)

    def __init__(self, module: Module, assume: Assume) -> None:
        from .known_values import KnownValues

        super().__init__(module)
        self.values: KnownValues = KnownValues(Questions(module), masks=assume == "masks")

    def traits(self, instruction: Instruction) -> RuleTraits:
        """The rules for mentioned elements, since sizes alone decide nothing."""
        return super().traits(instruction)._replace(sizes_class=None)

    def rule(self, instruction: Instruction, index: ShapeIndex, direction: int) -> InstructionIndexing:
        """The rule for mentioned elements, minus those that the values of the operands rule out.

        Instructions do not share such a rule, unless they only take tuples apart.
        """
        op = op_of(instruction._bare)
        if op.maps.structural:
            return super().rule(instruction, index, direction)
        instruction = self.module.instruction(instruction.number)
        mentioned = super().rule(instruction, index, direction)
        if direction >= 0 or op.values.used is None or instruction.inconsistency is not None:
            return mentioned
        known = [self.values.of(operand) for operand in instruction.operands]
        if all(map(is_plain, known)):
            return mentioned
        parts = mentioned.parts
        try:
            used = op.values.used(instruction, known, parts, self.values)
        except (HlomapError, OverflowError):  # a number does not fit in 64 bits
            return mentioned
        return mentioned if used == parts else InstructionIndexing(instruction, index, -1, used)
