"""dot: output[b, i, j] = sum over k of lhs[b, i, k] * rhs[b, k, j], with any number of dimensions for each letter.

The output dimensions are the batch dimensions, then the free dimensions of the left side, then those of the right.
Sections Dot and DotGeneral of XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.maps import inverted
from .._op import OpRule, register
from .evaluate import evaluate
from .indexing import output_to_input
from .known import known_values, used

register(
    OpRule(
        "dot",
        output_to_input,
        inverted(output_to_input),
        evaluate,
        known_values=known_values,
        used=used,
        builder_methods=("dot", "dot_general"),
        operations="multiply-adds",
    )
)
