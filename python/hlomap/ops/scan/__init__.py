"""scan: a computation applied step by step along one dimension; the last operands and results are the carries.

Output i of a step depends on the inputs of that step and, through the carries, on those of earlier steps (of later ones
in reverse) and on the init values.  Where the computation is elementwise, all of these have the same index; otherwise
the maps lead to all elements.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import input_to_output, output_to_input

register(OpRule("scan", output_to_input, input_to_output, evaluate, depends_on_called_values=True))
