"""fusion and call: the value of the called computation at the operands; the walker follows the way through it."""

from __future__ import annotations

from .._core import Computation, Instruction
from ..types import ShapeIndex
from ._evaluation import Run, Steps, Value
from ._registry import register
from ._rule import Answer, Context, Op
from ._shapes import must


def _called(instruction: Instruction) -> Computation:
    must(len(instruction.called) == 1, "not one computation")
    return instruction.called[0]


def output_to_input(instruction: Instruction, leaf: ShapeIndex, context: Context) -> Answer:
    """From the root of the computation to its parameters."""
    return context.output_to_input(instruction, _called(instruction), leaf)


def input_to_output(instruction: Instruction, operand: int, leaf: ShapeIndex, context: Context) -> Answer:
    """From a parameter of the computation to its root."""
    return context.input_to_output(instruction, _called(instruction), operand, leaf)


def evaluate(instruction: Instruction, operands: list[Value], run: Run) -> Steps:
    """Run the computation."""
    return (yield run.call(_called(instruction), operands))


for _name, _methods in (("fusion", ("fusion",)), ("call", ("call", "composite_call"))):
    register(
        Op(
            _name,
            output_to_input,
            input_to_output,
            evaluate,
            inlines=True,
            passes_calls=True,
            per_instruction=True,
            pointwise=True,
            methods=_methods,
            parameter_is=lambda instruction, called, parameter: parameter,
        )
    )
