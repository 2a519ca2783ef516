"""dynamic-update-slice: the update inside a window at clamped offsets, the operand outside it.

Outside is cut into disjoint maps: inside along the first dimensions, then before or after the window along the next.
"""

from __future__ import annotations

from .._registry import register
from .._rule import Op
from .evaluate import evaluate
from .indexing import input_to_output, looked_at, output_to_input

register(Op("dynamic-update-slice", output_to_input, input_to_output, evaluate, looked_at))
