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
    require(len(instruction.operands) == len(branches) + 1, f"expected an operand for each of {len(branches)} branches")
    for branch, operand in zip(branches, instruction.operands[1:], strict=True):
        require(len(branch.parameters) == 1, "a branch takes one parameter")
        require(
            same_arrays(branch.parameters[0].shape, operand.shape),
            "the parameter of a branch differs in shape from its operand",
        )
        require(
            same_arrays(branch.root.shape, instruction.shape), "the result of a branch differs in shape from the output"
        )
    return branches
