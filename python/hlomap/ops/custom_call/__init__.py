"""custom-call: a function outside XLA.

Calls of well-known libraries are defined by HLO (:mod:`hlomap.library_calls`).  Calls that only annotate a value with
its sharding or memory space return their operand.  Nothing is known of others, unless the user registers a rule or a
function.  Section CustomCall of XLA's operation semantics.
"""

from __future__ import annotations

from ..._core import Computation, Instruction
from ...answers import Unknown
from ...library_calls.definitions import definition_of
from .._op import OpRule, register
from .._operations import Operations
from .attributes import is_annotation, target_of
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input


def _operations(instruction: Instruction) -> Operations | Computation | Unknown:
    """Those of the definition of a library call; an annotation takes none."""
    if is_annotation(instruction):
        return Operations()
    definition = definition_of(instruction)
    if isinstance(definition, Instruction):
        return definition.called_computations[0]
    unknown = Unknown(f"custom-call to {target_of(instruction)!r} has no known operations")
    return definition if isinstance(definition, Unknown) else unknown


register(
    OpRule("custom-call", output_to_input, input_to_output, evaluate, has_side_effect=True, operations=_operations)
)
