"""Condition and body of a loop."""

from __future__ import annotations

from ..._core import Computation, Instruction
from .._shapes import require, same_arrays


def condition_and_body(instruction: Instruction) -> tuple[Computation, Computation]:
    """The condition and the body, checked against the carried value."""
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    require(len(instruction.operands) == 1, "a loop with several operands")
    shape = instruction.shape
    for computation in (condition, body):
        require(len(computation.parameters) == 1, "a loop whose condition or body takes several values")
        require(same_arrays(computation.parameters[0].shape, shape), "a condition or body of another shape")
    require(same_arrays(body.root.shape, shape), "a body that gives another shape")
    return condition, body
