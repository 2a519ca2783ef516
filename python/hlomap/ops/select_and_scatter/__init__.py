"""select-and-scatter: each window of the operand selects one element, where the window's source element is scattered.

Which element of a window is selected depends on the values, so each element depends on all elements that share a window
with it.  Section SelectAndScatter of XLA's operation semantics.
"""

from __future__ import annotations

from .._operations import selected_and_scattered
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("select-and-scatter", output_to_input, input_to_output, evaluate, operations=selected_and_scattered))
