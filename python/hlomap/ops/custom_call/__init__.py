"""custom-call: a function outside XLA; nothing is known of it unless the user registers a rule or a function.

Calls that only annotate a value with its sharding or memory space return their operand.  Section CustomCall of XLA's
operation semantics.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("custom-call", output_to_input, input_to_output, evaluate, has_side_effect=True))
