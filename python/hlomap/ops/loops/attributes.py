"""Condition and body of a loop."""

from __future__ import annotations

from ..._core import Computation, Instruction
from .._shapes import require, same_arrays


def condition_and_body(instruction: Instruction) -> tuple[Computation, Computation]:
    """The condition and the body, checked against the carried value."""
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    require(len(instruction.operands) == 1, "expected one operand")
    shape = instruction.shape
    for computation in (condition, body):
        require(len(computation.parameters) == 1, "condition and body take one parameter")
        require(
            same_arrays(computation.parameters[0].shape, shape),
            "the parameter of condition or body differs in shape from the carried value",
        )
    require(same_arrays(body.root.shape, shape), "the result of the body differs in shape from the carried value")
    return condition, body
