"""Condition and body of a loop."""

from __future__ import annotations

from ..._core import Computation, Instruction
from .._shapes import require, same_arrays


def condition_and_body(instruction: Instruction) -> tuple[Computation, Computation]:
    condition, body = instruction.attributes["condition"], instruction.attributes["body"]
    require(len(instruction.operands) == 1, "a loop with several operands")
    shape = instruction.shape
    for computation in (condition, body):
        require(len(computation.parameters) == 1, "a loop whose condition or body takes several values")
        require(same_arrays(computation.parameters[0].shape, shape), "a condition or body of another shape")
    require(same_arrays(body.root.shape, shape), "a body that gives another shape")
    return condition, body


def is_loop_invariant(body: Computation, leaf: tuple[int, ...]) -> bool:
    """Whether the body's value at a leaf is its parameter's, followed through tuples alone."""
    here, at = body.root, leaf
    while True:
        if here.opcode == "tuple" and at:
            here, at = here.operands[at[0]], at[1:]
        elif here.opcode == "get-tuple-element":
            here, at = here.operands[0], (int(here.attributes["index"]), *at)
        else:
            return here.opcode == "parameter" and at == leaf
