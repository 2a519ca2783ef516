"""scatter: output[start + offset] combines operand[start + offset] with every update whose window covers that element.

Updates are combined one after the other.  A window that does not lie in the operand as a whole is skipped.  The
operands are n arrays, the indices, and n updates; each of the n results depends on all of them.  Section Scatter of
XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.index_vectors import known_surroundings
from .._operations import scattered
from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import constant_operands, input_to_output, output_to_input, updated_operands

register(
    OpRule(
        "scatter",
        output_to_input,
        input_to_output,
        evaluate,
        constant_operands,
        in_place=updated_operands,
        surroundings=known_surroundings(constant_operands),
        operations=scattered,
        updated_operand=lambda i: len(i.operands) // 2 + 1 if len(i.operands) == 3 else None,
    )
)
