"""while: the body is applied to the carried value as long as the condition holds.

A leaf that the body forwards unchanged has the identity map.  The maps of other leaves cover every number of
iterations, found by composing the body's maps with themselves up to a fixed point; where there are too many of them,
the whole array replaces them.  The number of iterations depends on the elements that the condition reads, so every leaf
that changes depends on those.  Section While of XLA's operation semantics.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import carried_to_input, initial_integers, input_to_output, output_to_input
from .known import known_parameter, known_values

register(
    OpRule(
        "while",
        output_to_input,
        input_to_output,
        evaluate,
        depends_on_called_values=True,
        surroundings=initial_integers,
        pointwise=True,
        runs="loop",
        hands_on=True,
        moves_nothing=True,
        parameter_to_operands=carried_to_input,
        known_values=known_values,
        known_parameter=known_parameter,
    )
)
