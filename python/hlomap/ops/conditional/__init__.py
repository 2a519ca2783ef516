"""conditional: the value of one of several computations, each at an operand of its own; operand 0 says which.

A predicate takes branch 0 where it holds and branch 1 where not; an index out of range takes the last branch.
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
        operand_of_parameter=lambda instruction, called, parameter: called + 1,
    )
)
