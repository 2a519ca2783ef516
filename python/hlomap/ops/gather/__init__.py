"""gather: output[batch, offset] = operand[start + offset], with starts clamped so that each slice lies in the operand.

The output dimensions in ``offset_dims`` are offsets in a slice, the others number the index vectors.  An operand
dimension is paired with a dimension of the indices (``operand_batching_dims``), starts at a component of the index
vector (``start_index_map``), or starts at 0.  Section Gather of XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.index_vectors import known_surroundings
from .._known import moved
from .._operations import moves_elements
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import constant_operands, input_to_output, output_to_input

register(
    OpRule(
        "gather",
        output_to_input,
        input_to_output,
        evaluate,
        constant_operands,
        surroundings=known_surroundings(constant_operands),
        known_values=moved(0),
        operations=moves_elements,
    )
)
