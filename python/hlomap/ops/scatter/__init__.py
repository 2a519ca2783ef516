"""scatter: updates are combined, one after the other, into the operands in the windows at index vectors.

A window that does not lie in the operand as a whole is left out.  Operands are n arrays, the indices, n updates; each
of the n results depends on all of them.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import constant_operands, input_to_output, output_to_input

register(OpRule("scatter", output_to_input, input_to_output, evaluate, constant_operands))
