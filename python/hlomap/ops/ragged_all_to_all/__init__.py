"""ragged-all-to-all: every device sends rows to each device of its group; what nobody writes keeps the output operand.

Numbers p * m to p * m + m - 1 of a sender are its m messages to position p: where its rows begin, how many they are,
and where they go.
"""

from __future__ import annotations

from .._indexing.collectives import known
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
            lambda instruction, leaf: backward(instruction, known(groups(instruction))),
            lambda instruction, operand, leaf: {
                0: part(instruction, operand, known(groups(instruction)), to_output=True)
            },
        ),
    )
)
