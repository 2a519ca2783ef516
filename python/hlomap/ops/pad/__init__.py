"""pad: output[low + (interior + 1) * d] = operand[d] where that index exists; all other elements are the padding value.

``low`` and ``high`` may be negative, and then remove elements after interior padding.  The elements with the padding
value are split into disjoint maps by the first dimension along which they are not data.  Section Pad of XLA's operation
semantics.
"""

from __future__ import annotations

from .._known import moved
from .._operations import moves_elements
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("pad", output_to_input, input_to_output, evaluate, known_values=moved(), operations=moves_elements))
