"""scaled-dot: a dot of two sides made of blocks with one factor each; operands are the sides, then the factors.

Element i along a dimension has factor ``i floordiv block``; a scalar is one factor for all.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("scaled-dot", output_to_input, input_to_output, evaluate))
