"""ragged-dot: a dot in which one dimension of the left side is split into groups, whose sizes are values.

The groups are consecutive.  Along a free dimension, each group of rows has its own right side, and rows in no group
give 0; along a contracted dimension, each group has its own sum; along a batch dimension, the groups do not matter.  As
``jax.lax.ragged_dot_general``.
"""

from __future__ import annotations

from .._operations import multiply_adds
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("ragged-dot", output_to_input, input_to_output, evaluate, operations=multiply_adds))
