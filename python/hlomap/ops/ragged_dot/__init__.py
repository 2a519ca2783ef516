"""ragged-dot: a dot in which one dimension of the left side is cut into groups, whose sizes are known when it runs.

Groups lie one after the other.  A free dimension: each group of rows has a right side of its own, rows of none give 0.
A contracted one: each group is summed on its own.  A batch one: the groups do not matter.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("ragged-dot", output_to_input, input_to_output, evaluate))
