"""while: the body runs on the carried value for as long as the condition holds.

A leaf that the body hands on unchanged is itself.  Of any other leaf the maps are those of every number of iterations,
found by composing the body's own maps until nothing new comes; what gets too many maps is the whole array.  How often
the loop runs depends on what the condition reads, so that belongs to every leaf that changes.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(
    OpRule(
        "while",
        output_to_input,
        input_to_output,
        evaluate,
        depends_on_called_values=True,
        pointwise=True,
        # The carried value of some iteration is what the loop gives where it ends there.
        operand_of_parameter=lambda instruction, called, parameter: None,
    )
)
