"""The branches of a conditional."""

from __future__ import annotations

from ..._core import Computation, Instruction
from .._shapes import must, same_arrays


def branches_of(instruction: Instruction) -> tuple[Computation, ...]:
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        branches: tuple[Computation, ...] = tuple(attributes["branch_computations"])
    else:
        branches = (attributes["true_computation"], attributes["false_computation"])
    must(len(instruction.operands) == len(branches) + 1, f"{len(branches)} branches and other operands")
    for branch, operand in zip(branches, instruction.operands[1:], strict=True):
        must(len(branch.parameters) == 1, "a branch that does not take one value")
        must(same_arrays(branch.parameters[0].shape, operand.shape), "a branch that takes another shape")
        must(same_arrays(branch.root.shape, instruction.shape), "a branch that gives another shape")
    return branches
