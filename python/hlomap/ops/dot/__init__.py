"""dot: output[b, i, j] = sum over k of lhs[b, i, k] * rhs[b, k, j], with any number of dimensions for each letter.

The output dimensions are the batch dimensions, then the free dimensions of the left side, then those of the right.
Sections Dot and DotGeneral of XLA's operation semantics.
"""

from __future__ import annotations

from .._op import OpRule, register
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input
from .known import known_values, used

register(
    OpRule(
        "dot",
        output_to_input,
        input_to_output,
        evaluate,
        known_values=known_values,
        used=used,
        builder_methods=("dot", "dot_general"),
        operations="multiply-adds",
    )
)
