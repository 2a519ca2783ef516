"""fusion and call: the value of the called computation at the operands; the walker follows the way through it."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Instruction
from ._op import Answer, Context, Leaf, Op, Run, Unknown, Value, n_outputs, register


def output_to_input(instruction: Instruction, leaf: Leaf, context: Context) -> Answer:
    """From the root of the computation to its parameters."""
    if len(instruction.called) != 1:
        return [Unknown(f"{instruction.opcode} without its computation")] * len(instruction.operands)
    return context.output_to_input(instruction, instruction.called[0], leaf)


def input_to_output(instruction: Instruction, operand: int, leaf: Leaf, context: Context) -> Answer:
    """From a parameter of the computation to its root."""
    if len(instruction.called) != 1:
        return [Unknown(f"{instruction.opcode} without its computation")] * n_outputs(instruction.shape)
    return context.input_to_output(instruction, instruction.called[0], operand, leaf)


def evaluate(instruction: Instruction, operands: Sequence[Value], run: Run) -> Value:
    """Run the computation."""
    return run.call(instruction.called[0], operands)


for _name in ("fusion", "call"):
    register(Op(_name, output_to_input, input_to_output, evaluate, inlines=True, per_instruction=True, pointwise=True))
