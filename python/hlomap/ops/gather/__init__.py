"""gather: slices of the operand, each at an index vector, clamped so that the slice fits.

Output dimensions in ``offset_dims`` are places in a slice, the others number the vectors.  An operand dimension is
paired with one of the indices (batching), or begins at a component of the vector, or at 0.
"""

from __future__ import annotations

from .._registry import register
from .._rule import OpRule
from .evaluate import evaluate
from .indexing import constant_operands, input_to_output, output_to_input

register(OpRule("gather", output_to_input, input_to_output, evaluate, constant_operands))
