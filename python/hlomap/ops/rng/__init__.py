"""Random numbers: rng, whose values nobody specifies; rng-bit-generator, whose bits are; the state of a device."""

from __future__ import annotations

from .._indexing.maps import reaches_nothing, reads_nothing
from .._registry import register
from .._rule import OpRule
from .evaluate import next_state, random_bits, rng
from .indexing import reach_all, read_all

register(OpRule("rng", read_all, reach_all, rng, builder_methods=("rng_normal", "rng_uniform")))
register(OpRule("rng-bit-generator", read_all, reach_all, random_bits))
register(OpRule("rng-get-and-update-state", reads_nothing, reaches_nothing, next_state))
