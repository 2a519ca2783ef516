"""custom-call: what a user registered for its target; of any other target nothing is known.

Calls that only say how a value is laid over devices are the value itself.
"""

from __future__ import annotations

from .._core import Instruction
from ._maps import passes_from, passes_to
from ._op import Answer, Context, Leaf, Op, Unknown, register
from ._shapes import n_outputs
from .meaning.custom_call import evaluate
from .plans.custom_call import is_annotation, target_of


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """An annotation passes its operand on."""
    if is_annotation(instruction):
        return passes_from(instruction, leaf, 0, leaf)
    return [Unknown(f"no rule for custom-call to {target_of(instruction)!r}")] * len(instruction.operands)


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """The same."""
    if is_annotation(instruction):
        return passes_to(instruction, operand, leaf, leaf)
    return [Unknown(f"no rule for custom-call to {target_of(instruction)!r}")] * n_outputs(instruction.shape)


register(Op("custom-call", output_to_input, input_to_output, evaluate, acts=True))
