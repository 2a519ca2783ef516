"""Condition and body of a loop."""

from __future__ import annotations

from ..._core import Computation, Instruction
from .._shapes import must, same_arrays


def parts_of(instruction: Instruction) -> tuple[Computation, Computation]:
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    must(len(instruction.operands) == 1, "a loop with several operands")
    shape = instruction.shape
    for computation in (condition, body):
        must(len(computation.parameters) == 1, "a loop whose condition or body takes several values")
        must(same_arrays(computation.parameters[0].shape, shape), "a condition or body of another shape")
    must(same_arrays(body.root.shape, shape), "a body that gives another shape")
    return condition, body
