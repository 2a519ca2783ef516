"""scan: a computation applied step by step along one dimension; the last operands and results are the carries.

Output i of a step depends on the inputs of that step and, through the carries, on those of earlier steps (of later ones
in reverse) and on the init values.  Where the computation is elementwise, all of these have the same index; otherwise
the maps lead to all elements.
"""

from __future__ import annotations

from ..._core import Instruction
from ...answers import Unknown
from .._operations import CostContext, Operations
from .._registry import register
from .._rule import OpRule
from .attributes import scan_dimensions
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input


def _operations(instruction: Instruction, context: CostContext) -> Operations | Unknown:
    """The computation, once for each step."""
    found, n_steps = context.once(instruction.called_computations[0]), scan_dimensions(instruction)[3]
    return found if isinstance(found, Unknown) else found.times(n_steps)


register(
    OpRule("scan", output_to_input, input_to_output, evaluate, operations=_operations, depends_on_called_values=True)
)
