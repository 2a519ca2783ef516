"""conditional: the value of one of several computations, each with its own operand; operand 0 selects the branch.

A predicate selects branch 0 if true and branch 1 if false; an index out of range selects the last branch.  Section
Conditional of XLA's operation semantics.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(
    OpRule(
        "conditional",
        output_to_input,
        input_to_output,
        evaluate,
        depends_on_called_values=True,
        pointwise=True,
        runs="branch",
        moves_nothing=True,
        value_of_parameter=lambda instruction, called, parameter: instruction.operands[called + 1],
    )
)
