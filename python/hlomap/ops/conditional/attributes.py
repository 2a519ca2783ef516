"""The branches of a conditional."""

from __future__ import annotations

from ..._core import Computation, Instruction
from .._shapes import require, same_arrays


def branch_computations(instruction: Instruction) -> tuple[Computation, ...]:
    """The branches, checked against the operands and the output."""
    attributes = instruction.attributes
    if "branch_computations" in attributes:
        branches: tuple[Computation, ...] = tuple(attributes["branch_computations"])
    else:
        branches = (attributes["true_computation"], attributes["false_computation"])
    require(len(instruction.operands) == len(branches) + 1, f"{len(branches)} branches and other operands")
    for branch, operand in zip(branches, instruction.operands[1:], strict=True):
        require(len(branch.parameters) == 1, "a branch that does not take one value")
        require(same_arrays(branch.parameters[0].shape, operand.shape), "a branch that takes another shape")
        require(same_arrays(branch.root.shape, instruction.shape), "a branch that gives another shape")
    return branches
