"""ragged-all-to-all: every device sends rows to each device of its group; other rows keep those of the output operand.

Elements p * m to p * m + m - 1 of a sender's offsets and sizes are its m messages to position p: the first row of each,
the number of rows, and the row of the output where they go.  Section RaggedAllToAll of XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.collectives import known_groups
from .._operations import moves_elements
from .._registry import register
from .._rule import CollectiveRule, OpRule
from .evaluate import evaluate
from .indexing import backward, groups, input_to_output, output_to_input, part

register(
    OpRule(
        "ragged-all-to-all",
        output_to_input,
        input_to_output,
        evaluate,
        has_side_effect=True,
        collective=CollectiveRule(
            groups,
            lambda instruction, leaf: backward(instruction, known_groups(groups(instruction))),
            lambda instruction, operand, leaf: {
                0: part(instruction, operand, known_groups(groups(instruction)), to_output=True)
            },
        ),
        operations=moves_elements,
    )
)
