"""pad: operand element d moves to low + (interior + 1) * d where that is inside; all other places hold the value.

low and high may be negative, and then remove elements, after interior places are put between them.
The places of the value are the complement, cut into disjoint maps: places whose first dimensions are data and whose
next one is not.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("pad", output_to_input, input_to_output, evaluate))
