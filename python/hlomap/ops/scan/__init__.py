"""scan: a computation applied step by step along one dimension; the last operands and results are the carries.

Output i of a step needs the inputs of that step and, through the carries, those of the steps before it (behind it in
reverse) and the inits.  Where a step moves no element, all of this is at the same place; else it is taken to be
everything.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("scan", output_to_input, input_to_output, evaluate, depends_on_called_values=True))
