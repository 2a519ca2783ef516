"""scaled-dot: a dot of two sides whose blocks of elements have a common scale; the scales are operands 2 and 3.

Element i along a dimension has the scale of block ``i floordiv block``; a scalar is one scale for all elements.
"""

from __future__ import annotations

from .._operations import multiply_adds
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("scaled-dot", output_to_input, input_to_output, evaluate, operations=multiply_adds))
