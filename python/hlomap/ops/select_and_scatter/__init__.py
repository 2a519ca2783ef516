"""select-and-scatter: of each window of the operand one element is selected, and the source of the window goes there.

Places of two elements in one window differ by less than the window; which of them is selected only the values tell.
Of equal elements the first of the window stays selected, as the select computation says.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("select-and-scatter", output_to_input, input_to_output, evaluate))
