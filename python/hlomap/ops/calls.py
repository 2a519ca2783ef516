"""fusion and call: the value of the called computation at the operands.

Section Call of XLA's operation semantics.
"""

from __future__ import annotations

from .._core import Computation, Instruction
from ..base.types import ShapeIndex
from ._evaluation import EvalContext, Steps, Value
from ._op import Calls, Maps, Memory, Semantics, register
from ._rule import RuleContext, RuleResult
from ._shapes import require


def _called(instruction: Instruction) -> Computation:
    require(len(instruction.called_computations) == 1, "expected one called computation")
    return instruction.called_computations[0]


def output_to_input(instruction: Instruction, shape_index: ShapeIndex, context: RuleContext) -> RuleResult:
    """From the root of the called computation to its parameters."""
    return context.output_to_input(instruction, _called(instruction), shape_index)


def input_to_output(
    instruction: Instruction, operand: int, shape_index: ShapeIndex, context: RuleContext
) -> RuleResult:
    """From a parameter of the called computation to its root."""
    return context.input_to_output(instruction, _called(instruction), operand, shape_index)


def evaluate(instruction: Instruction, operands: list[Value], context: EvalContext) -> Steps:
    """Call the computation."""
    return (yield context.call(_called(instruction), operands))


for _name, _methods in (("fusion", ("fusion",)), ("call", ("call", "composite_call"))):
    register(
        _name,
        Maps(output_to_input, input_to_output, follows_tokens=True),
        Semantics(evaluate, pointwise=True, builder_methods=_methods),
        memory=Memory(moves_nothing=_name == "call"),
        calls=Calls(
            inlines=True,
            forwards=True,
            runs="once",
            value_of_parameter=lambda instruction, called, parameter: instruction._operand(parameter),
        ),
    )
