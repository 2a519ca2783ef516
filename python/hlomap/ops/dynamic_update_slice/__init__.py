"""dynamic-update-slice: the update inside a window at clamped offsets, the operand outside it.

Outside is cut into disjoint maps: inside along the first dimensions, then before or after the window along the next.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import constant_operands, input_to_output, output_to_input

register(OpRule("dynamic-update-slice", output_to_input, input_to_output, evaluate, constant_operands))
