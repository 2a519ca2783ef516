"""custom-call: what a user registered for its target; of any other target nothing is known.

Calls that only say how a value is laid over devices are the value itself.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("custom-call", output_to_input, input_to_output, evaluate, has_side_effect=True))
