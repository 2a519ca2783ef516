"""custom-call: a function outside XLA.

Calls of well-known libraries are defined by HLO (:mod:`hlomap.ops._library`).  Calls that only annotate a value with
its sharding or memory space return their operand.  Nothing is known of others, unless the user registers a rule or a
function.  Section CustomCall of XLA's operation semantics.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("custom-call", output_to_input, input_to_output, evaluate, has_side_effect=True))
