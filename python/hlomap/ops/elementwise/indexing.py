"""The indexing rule of elementwise."""

from __future__ import annotations

from collections.abc import Sequence

from ..._core import Instruction
from ...types import ShapeIndex, Unknown
from .._indexing.maps import passes_from, passes_to, reads_all, reads_same_place, reads_scalar
from .._rule import OperandIndexing, RuleContext, RuleResult
from .._shapes import must


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """Each operand at the place of the output, a scalar always; a copy of a tuple leaf by leaf."""
    if instruction.shape.is_tuple:
        must(len(instruction.operands) == 1, "an elementwise operation on tuples")
        return passes_from(instruction, leaf, 0, leaf)
    sizes = instruction.shape.dimensions
    return [_read(sizes, operand.shape.dimensions) for operand in instruction.operands]


def _read(sizes: Sequence[int], operand: Sequence[int]) -> OperandIndexing:
    if tuple(operand) == tuple(sizes):
        return reads_same_place(sizes)
    if not operand:
        return reads_scalar(sizes)
    return Unknown(f"an elementwise operand of sizes {tuple(operand)} for an output of sizes {tuple(sizes)}")


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: RuleContext) -> RuleResult:
    """The output at the same place; all of it for a scalar."""
    if instruction.shape.is_tuple:
        must(len(instruction.operands) == 1, "an elementwise operation on tuples")
        return passes_to(instruction, operand, leaf, leaf)
    sizes = instruction.shape.dimensions
    source = instruction.operands[operand].shape.dimensions
    if tuple(source) == tuple(sizes):
        return [reads_same_place(sizes)]
    if not source:
        return [reads_all((), sizes)]
    return [Unknown(f"an elementwise operand of sizes {tuple(source)} for an output of sizes {tuple(sizes)}")]
