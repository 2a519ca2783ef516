"""rng, rng-bit-generator, rng-get-and-update-state: random numbers, and the random state of a device.

Sections RngNormal, RngUniform and RngBitGenerator of XLA's operation semantics.
"""

from __future__ import annotations

from .._indexing.maps import reaches_nothing, reads_nothing
from .._operations import moves_elements, random_bits as bits_each, transcendental
from .._registry import register
from .._rule import OpRule
from .evaluate import next_state, random_bits, rng
from .indexing import input_to_output, output_to_input

register(
    OpRule(
        "rng",
        output_to_input,
        input_to_output,
        rng,
        operations=transcendental,
        builder_methods=("rng_normal", "rng_uniform"),
    )
)
register(OpRule("rng-bit-generator", output_to_input, input_to_output, random_bits, operations=bits_each))
register(OpRule("rng-get-and-update-state", reads_nothing, reaches_nothing, next_state, operations=moves_elements))
