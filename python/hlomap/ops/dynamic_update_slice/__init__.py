"""dynamic-update-slice: output[d] = update[d - offset] inside the window at the clamped offset, operand[d] outside.

The outside is split into disjoint maps: inside the window along the first dimensions, before or behind it along the
next.  Section DynamicUpdateSlice of XLA's operation semantics.
"""

from __future__ import annotations

from .._known import moved
from .._operations import moves_elements
from .._registry import register
from .._rule import InPlace, OpRule
from .evaluate import evaluate
from .indexing import constant_operands, input_to_output, output_to_input

register(
    OpRule(
        "dynamic-update-slice",
        output_to_input,
        input_to_output,
        evaluate,
        constant_operands,
        in_place=lambda instruction: {(): InPlace(0)},
        known_values=moved(0, 1),
        operations=moves_elements,
        updated_operand=lambda instruction: 1,
    )
)
